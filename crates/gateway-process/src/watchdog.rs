//! Ends a gateway and removes its directory once the process that started it is gone.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// Reads the id of the process to end from each line of its input; an empty line means none. The input is a pipe that
/// only the starting process holds open, so the system closes it even if that process is killed. Signals are ignored,
/// because a terminal also sends them to the watchdog.
const SCRIPT: &str = "
trap '' HUP INT TERM
pid=
while read -r line; do pid=$line; done
[ -z \"$pid\" ] || kill -9 \"$pid\"
rm -rf \"$1\"
";

pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    pub(crate) fn start(directory: &Path) -> anyhow::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "watchdog"]).arg(directory);
        // It must not run in the directory that it removes, nor in the process group that a terminal or a test runner
        // ends as a whole.
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        Ok(Self { shell: shell.spawn().context("cannot run sh")? })
    }

    /// Sets the process to end.
    pub(crate) fn watch(&mut self, pid: Option<u32>) -> anyhow::Result<()> {
        let line = pid.map_or_else(|| "\n".to_owned(), |pid| format!("{pid}\n"));
        let pipe = self.shell.stdin.as_mut().context("the watchdog has no pipe")?;
        pipe.write_all(line.as_bytes()).context("the watchdog is gone")
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a process that runs until it is killed.
    fn patient() -> Child {
        Command::new("sleep").arg("1000").spawn().unwrap()
    }

    #[test]
    fn watching_ends_with_its_pipe() {
        let directory = tempfile::tempdir().unwrap().keep();
        std::fs::write(directory.join("file"), "text").unwrap();
        let mut ended = patient();
        let mut lives = patient();
        let mut watchdog = Watchdog::start(&directory).unwrap();
        watchdog.watch(Some(lives.id())).unwrap();
        watchdog.watch(None).unwrap();
        watchdog.watch(Some(ended.id())).unwrap();
        // Closes the pipe, as the system does when this process is killed.
        drop(watchdog);
        assert_eq!(ended.wait().unwrap().code(), None, "it was killed");
        assert!(!directory.exists());
        assert!(lives.try_wait().unwrap().is_none(), "what was there before is no longer watched");
        lives.kill().unwrap();
        lives.wait().unwrap();
    }
}
