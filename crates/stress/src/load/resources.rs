//! What a gateway's process holds.

use std::path::PathBuf;

use anyhow::Context as _;
use measure::ResidentMemory;

/// What a process held at a moment.
#[derive(Debug, Clone)]
pub struct Resources {
    pub moment: String,
    /// Bytes of memory.
    pub resident: u64,
    /// Open files and sockets.
    pub handles: usize,
}

/// A process that is looked at from time to time.
pub(crate) struct Watched {
    memory: ResidentMemory,
    handles: PathBuf,
}

impl Watched {
    pub(crate) fn of(pid: u32) -> Self {
        Self { memory: ResidentMemory::of(pid), handles: PathBuf::from(format!("/proc/{pid}/fd")) }
    }

    pub(crate) fn look(&self, moment: &str) -> anyhow::Result<Resources> {
        let handles = std::fs::read_dir(&self.handles).context("the gateway is gone")?.count();
        Ok(Resources { moment: moment.to_owned(), resident: self.memory.now()?, handles })
    }
}
