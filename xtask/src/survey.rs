//! `cargo xtask survey FOLDER`: prints which agents lose text in the repositories in a folder. Clones nothing.

use std::path::Path;

use anyhow::Result;

use crate::process;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut command = process::cargo();
    // Run as an example of the crate, because this program must not depend on the crates that it builds.
    command.args(["run", "--quiet", "--package", "foreword-compare", "--example", "survey", "--"]);
    process::run(command.arg(folder))
}
