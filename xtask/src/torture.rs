//! `cargo xtask torture`: gateways and databases that break while clients save.

use anyhow::Result;

use crate::process;

/// Builds both programs and runs it; it fails when something acknowledged is not there, or is there twice.
pub(crate) fn run(minutes: u64, seed: u64) -> Result<()> {
    let packages = ["--package", "foreword", "--package", "torture"];
    process::run(process::cargo().args(["build", "--quiet", "--bins"]).args(packages))?;
    let mut command = process::cargo();
    command.args(["run", "--quiet"]).args(packages).args(["--bin", "torture", "--"]);
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    process::run(&mut command)
}
