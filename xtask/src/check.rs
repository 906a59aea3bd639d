//! `cargo xtask check`: every check that is not a test.

pub(crate) mod book;
mod deny;
mod readme;
mod references;
mod threats;
mod tidy;

use std::path::Path;

use anyhow::Result;

use crate::failure::{check_failed, is_check_failure};
use crate::gate::{self, Gate};
use crate::process::{cargo, run as run_command};
use crate::tool::CheckOutcome;
use crate::{bench, generate, language, print_status};

struct Check {
    name: &'static str,
    run: fn(&Path) -> Result<CheckOutcome>,
}

/// Packages that are never published: examples, and crates that use test support outside of tests.
const NEVER_PACKAGED: &[&str] = &["example-agent", "stress"];

/// All checks, fastest first.
const CHECKS: &[Check] = &[
    Check {
        name: "formatting",
        run: |_| {
            run_command(cargo().args(["fmt", "--all", "--check"]))?;
            // These workspaces are not members of ours, so `--all` does not cover them.
            run_command(cargo().args(["fmt", "--manifest-path", "desktop/Cargo.toml", "--check"]))?;
            passed(run_command(cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])))
        },
    },
    Check { name: "tidy", run: |root| passed(tidy::check(root)) },
    Check { name: "language", run: |root| passed(language::check(root)) },
    Check { name: "README commands", run: |root| passed(readme::check(root)) },
    Check {
        name: "packages",
        run: |_| {
            // Builds the archives that would be published. Compiling them again is left out, because the tests cover
            // the code.
            let mut package = cargo();
            // Uncommitted changes are allowed, because the check is also run before a commit.
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

/// Runs every check, even after a failure, and prints a summary.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut failed = Vec::new();
    let mut report = Vec::new();
    for check in CHECKS {
        print_status(format!("checking {}", check.name));
        let outcome = match (check.run)(root) {
            Ok(CheckOutcome::Passed) => "passed".to_owned(),
            Ok(CheckOutcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(error) if is_check_failure(&error) => {
                failed.push(check.name);
                format!("FAILED: {error:#}")
            }
            // A check that cannot run is no verdict about the tree, so it must not be reported as failed or passed.
            Err(error) => return Err(error.context(format!("failed to check {}", check.name))),
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

fn passed(result: Result<()>) -> Result<CheckOutcome> {
    result.map(|()| CheckOutcome::Passed)
}
