//! `cargo xtask check`: everything about the tree that is not a test.

pub(crate) mod book;
mod deny;
mod references;
mod threats;
mod tidy;

use std::path::Path;

use anyhow::Result;

use crate::failure::{check_failed, is_check_failure};
use crate::gate::{self, Gate};
use crate::process::{cargo, run as run_command};
use crate::tool::Outcome;
use crate::{bench, generate, print_status};

/// One thing that is checked.
struct Check {
    name: &'static str,
    run: fn(&Path) -> Result<Outcome>,
}

/// Never sent to anybody: an example, and what needs test support by more than its tests.
const NEVER_PACKAGED: &[&str] = &["example-agent", "stress"];

/// The quick ones first.
const CHECKS: &[Check] = &[
    Check {
        name: "formatting",
        run: |_| {
            run_command(cargo().args(["fmt", "--all", "--check"]))?;
            // Not members of the workspace.
            run_command(cargo().args(["fmt", "--manifest-path", "desktop/Cargo.toml", "--check"]))?;
            passed(run_command(cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])))
        },
    },
    Check { name: "tidy", run: |root| passed(tidy::check(root)) },
    Check {
        name: "packages",
        run: |_| {
            // What publishing would send; the build inside each archive is what the tests are for.
            let mut package = cargo();
            package.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"]);
            package.args(NEVER_PACKAGED.iter().flat_map(|name| ["--exclude", name]));
            passed(run_command(&mut package))
        },
    },
    Check { name: "generated files", run: |root| passed(generate::check(root)) },
    Check {
        name: "clippy",
        run: |_| {
            let clippy = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
            passed(run_command(cargo().args(clippy)))
        },
    },
    Check {
        name: "docs",
        run: |_| {
            let doc = ["doc", "--workspace", "--all-features", "--no-deps"];
            passed(run_command(cargo().args(doc).env("RUSTDOCFLAGS", "-D warnings")))
        },
    },
    Check { name: "benchmarks", run: |_| passed(bench::check()) },
    Check { name: "book", run: book::check },
    Check { name: "instruction counts", run: |root| gate::check(root, Gate::Check) },
    Check { name: "cargo-deny", run: deny::check },
];

/// Runs every check, also after one has failed, and closes with what came of each.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut failed = Vec::new();
    let mut report = Vec::new();
    for check in CHECKS {
        print_status(format!("checking {}", check.name));
        let outcome = match (check.run)(root) {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(error) if is_check_failure(&error) => {
                failed.push(check.name);
                format!("FAILED: {error:#}")
            }
            Err(error) => return Err(error.context(format!("could not check {}", check.name))),
        };
        report.push(format!("{}: {outcome}", check.name));
    }
    report.iter().for_each(print_status);
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(check_failed(format!(
            "{} of {} checks failed: {}",
            names.len(),
            CHECKS.len(),
            names.join(", ")
        ))),
    }
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}
