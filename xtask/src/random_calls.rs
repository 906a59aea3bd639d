//! `cargo xtask random-calls`: every method, called by everybody with parameters at random.

use anyhow::Result;

use crate::process;

/// Runs them; it fails when an answer is not as it must be.
pub(crate) fn run(minutes: u64, seed: u64) -> Result<()> {
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "random-calls", "--"]);
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    process::run(&mut command)
}
