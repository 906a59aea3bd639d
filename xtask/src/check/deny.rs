//! cargo-deny: which dependencies, licences and sources are allowed.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::run;
use crate::tool::{Outcome, Tool};

/// The releases that read our `deny.toml`.
const TOOL: Tool = Tool { name: "cargo-deny", version: "^0.20", how: &[] };

/// What is checked. Advisories are not: they need a database from the network, and change without a change here.
const CHECKS: &[&str] = &["bans", "licenses", "sources"];

/// Checks the dependencies against `deny.toml`, where cargo-deny can be had.
pub(crate) fn check(root: &Path) -> Result<Outcome> {
    let program = match TOOL.find_or_install()? {
        Ok(program) => program,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    run(Command::new(program).current_dir(root).arg("check").args(CHECKS))?;
    Ok(Outcome::Passed)
}
