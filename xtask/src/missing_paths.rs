//! `cargo xtask missing-paths FOLDER`: prints the findings of FW008 in the repositories in a folder, and the share of wrong
//! ones. Clones nothing.

use std::path::Path;

use anyhow::Result;

use crate::process;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut command = process::cargo();
    // Run as an example of the crate, because this program must not depend on the crates that it builds.
    command.args(["run", "--quiet", "--package", "foreword-check", "--example", "missing_paths", "--"]);
    process::run(command.arg(folder))
}
