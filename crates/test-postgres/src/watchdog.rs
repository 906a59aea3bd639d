//! Cleans up after a process, however it ends.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// Waits for the end of its input, a pipe that only the watched process holds open.
// The system closes the pipe even if the process is killed. The watchdog ignores signals, which terminals send to the
// whole group.
const SCRIPT: &str = "
trap '' HUP INT TERM
read -r _
directory=$1
shift
\"$@\"
rm -rf \"$directory\"
";

/// A process that runs one last command and removes a directory when this process is gone.
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    pub(crate) fn start(directory: &Path, last_command: &Command) -> anyhow::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "watchdog"]).arg(directory).args(crate::words(last_command));
        // It must not run in the directory that it removes, nor in the process group that a test runner kills as a
        // whole.
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        Ok(Self { shell: shell.spawn().context("cannot run sh")? })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
