//! Git commands that depend on no setting of the repository that runs programs.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::repository::GitError;

/// Settings that override those of the repository. Each of them could run a program or open a connection.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "diff.external=",
    "protocol.allow=never",
    "maintenance.auto=false",
];

/// Returns a command of Git in a directory.
pub(crate) fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    // An object that a partial clone lacks is an error here, not a reason to fetch it.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.env_remove("GIT_EXTERNAL_DIFF").env_remove("GIT_TRACE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command and returns its output, also if it failed.
pub(crate) fn run(command: &mut Command) -> Result<Output, GitError> {
    command.output().map_err(|source| GitError::Program { source })
}

/// Returns the last line that a failed command printed, without its prefix.
pub(crate) fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.into_iter().next().unwrap_or("git failed without a message");
    line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned()
}
