//! `cargo xtask survey FOLDER`: which agent loses what in repositories that are checked out there. It clones nothing.

use std::path::Path;

use anyhow::Result;

use crate::process;

/// Prints the table as Markdown.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "foreword-compare", "--example", "survey", "--"]);
    process::run(command.arg(folder))
}
