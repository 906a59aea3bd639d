//! cargo-deny: allowed dependencies, licenses and sources.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::run;
use crate::tool::{CheckOutcome, Tool};

/// Releases that support our `deny.toml`.
const TOOL: Tool = Tool { name: "cargo-deny", version: "^0.20", how: &[] };

/// Checks to run. Advisories are excluded: they come from a database on the network and change without any change of
/// ours.
const CHECKS: &[&str] = &["bans", "licenses", "sources"];

/// Checks the dependencies against `deny.toml`, or skips the check if cargo-deny is missing.
pub(crate) fn check(root: &Path) -> Result<CheckOutcome> {
    let program = match TOOL.find_or_install()? {
        Ok(program) => program,
        Err(why) => return Ok(CheckOutcome::Skipped(why)),
    };
    run(Command::new(program).current_dir(root).arg("check").args(CHECKS))?;
    Ok(CheckOutcome::Passed)
}
