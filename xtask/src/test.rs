//! `cargo xtask test`: runs every test of the workspace.

mod postgres;

use std::ffi::OsString;
use std::time::Instant;

use anyhow::Result;

use self::postgres::WithPostgres;
use crate::process::{self, cargo};
use crate::{prerequisites, print_status};

/// Packages and features, the same in every step, so that nothing is compiled twice.
pub(crate) const EVERYTHING: &[&str] = &["--workspace", "--all-features"];

/// Build targets of the tests.
pub(crate) const TARGETS: &[&str] = &["--bins", "--tests"];

/// Runs the tests, then the doc tests. With arguments, runs only the tests they select.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let started = Instant::now();
    prerequisites::ensure()?;
    let with_postgres = WithPostgres::build(&[EVERYTHING, TARGETS].concat())?;

    let nextest = prerequisites::has_nextest();
    let mut tests = cargo();
    if nextest {
        tests.args(["nextest", "run"]).args(EVERYTHING);
        if prerequisites::is_ci() {
            tests.args(["--profile", "ci"]);
        }
    } else {
        // `cargo test` includes the doc tests, unless the arguments select something else.
        tests.arg("test").args(EVERYTHING);
    }
    // All tests share one server, each with a database of its own, because starting a server takes longer than most
    // tests.
    process::run(&mut with_postgres.around(tests.args(arguments)))?;

    let runner = if nextest { "nextest" } else { "cargo test" };
    let ran = if !arguments.is_empty() {
        format!("the selected tests ({runner})")
    } else {
        if nextest {
            // nextest cannot run doc tests.
            process::run(cargo().arg("test").args(EVERYTHING).arg("--doc"))?;
        }
        format!("all tests ({runner}) and doc tests, with PostgreSQL")
    };
    print_status(format!("passed in {} seconds: {ran}", started.elapsed().as_secs()));
    Ok(())
}
