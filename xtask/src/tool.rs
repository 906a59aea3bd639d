//! Programs from crates.io that checks use. In CI, missing ones are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::process::{cargo, find_on_path, is_executable, run_at_most};
use crate::{metadata, prerequisites, print_status};

/// Time limit for an installation.
const INSTALL_TIME: Duration = Duration::from_secs(10 * 60);

/// A program and the package of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Additional arguments for `cargo install`.
    pub(crate) how: &'static [&'static str],
}

pub(crate) enum CheckOutcome {
    Passed,
    /// The check could not run, for this reason.
    Skipped(String),
}

impl Tool {
    /// Returns the program's path, or the reason to skip a check that needs it.
    pub(crate) fn find_or_install(&self) -> Result<Result<PathBuf, String>> {
        let tools = metadata::read()?.target_directory.join("tools");
        let own = tools.join("bin").join(self.name);
        if let Some(found) = find_on_path(self.name).or_else(|| is_executable(&own).then(|| own.clone())) {
            return Ok(Ok(found));
        }
        if !prerequisites::is_ci() {
            return Ok(Err(format!("not installed; `cargo install --locked {}` gives it", self.name)));
        }
        match self.install(&tools) {
            Ok(()) => Ok(Ok(own)),
            Err(error) => Ok(Err(format!("failed to install: {error:#}"))),
        }
    }

    fn install(&self, tools: &Path) -> Result<()> {
        print_status(format!("installing {} into {}", self.name, tools.display()));
        let build = tools.join("build");
        let mut command = cargo();
        // Unoptimized and without debug information, because building takes longer than running it.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.args(["install", "--locked", "--debug", "--root"]).arg(tools).arg("--target-dir").arg(&build);
        command.args(self.how).args(["--version", self.version, self.name]);
        run_at_most(&mut command, INSTALL_TIME)?;
        // The intermediate files are many times larger than the program and would fill a build machine's cache.
        let _ = fs::remove_dir_all(build);
        Ok(())
    }
}
