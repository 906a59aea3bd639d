//! cargo-deny: which dependencies, licences and sources are allowed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::process::{cargo, find_on_path, is_executable, run, run_at_most};
use crate::{metadata, prerequisites, print_status};

/// The releases that read our `deny.toml`.
const VERSION: &str = "^0.20";
/// How long a build machine may spend on getting it.
const INSTALL_TIME: Duration = Duration::from_secs(600);

/// What is checked. Advisories are not: they need a database from the network, and change without a change here.
const CHECKS: &[&str] = &["bans", "licenses", "sources"];

/// What came of it.
pub(crate) enum Outcome {
    Passed,
    /// It could not be had, and why.
    Skipped(String),
}

/// Checks the dependencies against `deny.toml`, where cargo-deny can be had.
pub(crate) fn check(root: &Path) -> Result<Outcome> {
    let tools = metadata::read()?.target_directory.join("tools");
    let program = match find(&tools) {
        Some(program) => program,
        None if prerequisites::is_ci() => match install(&tools) {
            Ok(program) => program,
            Err(error) => return Ok(Outcome::Skipped(format!("could not be installed: {error:#}"))),
        },
        None => {
            return Ok(Outcome::Skipped(
                "not installed; `cargo install --locked cargo-deny` gives it".into(),
            ));
        }
    };
    run(Command::new(program).current_dir(root).arg("check").args(CHECKS))?;
    Ok(Outcome::Passed)
}

fn find(tools: &Path) -> Option<PathBuf> {
    let own = tools.join("bin/cargo-deny");
    find_on_path("cargo-deny").or_else(|| is_executable(&own).then_some(own))
}

fn install(tools: &Path) -> Result<PathBuf> {
    print_status(format!("installing cargo-deny into {}", tools.display()));
    let build = tools.join("build");
    let mut command = cargo();
    // Unoptimised, because it is built for longer than it runs.
    command.args(["install", "--locked", "--debug", "--root"]).arg(tools).arg("--target-dir").arg(&build);
    command.args(["--version", VERSION, "cargo-deny"]);
    run_at_most(&mut command, INSTALL_TIME)?;
    let _ = fs::remove_dir_all(build);
    Ok(tools.join("bin/cargo-deny"))
}
