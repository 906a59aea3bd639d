//! A real gateway process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use protocol::local::{GATEWAY_FILE, GatewayFile};

use super::{Machine, eventually, signal};

/// A running `foreword serve`, killed by its id when dropped.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
    pub(crate) url: String,
}

impl Server {
    /// Starts it and waits until it announces its address.
    #[track_caller]
    pub(crate) fn start(machine: &Machine, command: Command) -> Self {
        Self::start_on(machine, command, &machine.data())
    }

    /// The same for one whose data directory is another than the machine's.
    #[track_caller]
    pub(crate) fn start_on(machine: &Machine, mut command: Command, data: &Path) -> Self {
        let log = machine.root().join("serve.log");
        let file = File::create(&log).expect("a log");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let mut child = command.spawn().expect("start the gateway");
        let announced = data.join(GATEWAY_FILE);
        let file = eventually("the gateway to start", || {
            if let Some(status) = child.try_wait().expect("wait for the gateway") {
                panic!(
                    "the gateway ended with {status}: {}",
                    std::fs::read_to_string(&log).unwrap_or_default()
                );
            }
            let file: GatewayFile = serde_json::from_slice(&std::fs::read(&announced).ok()?).ok()?;
            (file.pid == child.id()).then_some(file)
        });
        Self { child, log, url: file.url }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its standard error so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it at once, like a power failure for this one process.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill the gateway");
        self.child.wait().expect("wait for the gateway");
    }

    /// Stops it and returns how it ended.
    #[track_caller]
    pub(crate) fn stop(mut self, name: &str) -> ExitStatus {
        signal(self.pid(), name);
        eventually("the gateway to end", || self.child.try_wait().expect("wait for the gateway"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already ended is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
