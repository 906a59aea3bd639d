//! `cargo xtask torture`: gateways and databases that break while clients save.

use anyhow::Result;

use crate::{prerequisites, process};

/// Builds both programs and runs it; it fails when something acknowledged is not there, or is there twice.
pub(crate) fn run(minutes: u64, seed: u64) -> Result<()> {
    prerequisites::ensure()?;
    process::run(process::cargo().args(["build", "--quiet", "--package", "foreword"]))?;
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "torture", "--"]);
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    process::run(&mut command)
}
