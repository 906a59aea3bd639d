//! `cargo xtask simulate`: turns at random against a real gateway, each request checked.

use anyhow::Result;

use crate::process;

/// Runs the simulation; it fails when a request is not as it must be.
pub(crate) fn run(turns: u32, seed: u64) -> Result<()> {
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "simulation", "--"]);
    command.args(["--turns", &turns.to_string(), "--seed", &seed.to_string()]);
    process::run(&mut command)
}
