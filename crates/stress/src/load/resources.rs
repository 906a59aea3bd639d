//! Memory and file handles of a gateway process.

use std::path::PathBuf;

use anyhow::Context as _;
use measure::ResidentMemory;

/// Resources of a process at one moment.
#[derive(Debug, Clone)]
pub struct Resources {
    pub moment: String,
    /// Resident memory in bytes.
    pub resident: u64,
    pub handles: usize,
}

/// A process whose resources are recorded.
pub(crate) struct WatchedProcess {
    memory: ResidentMemory,
    handles: PathBuf,
}

impl WatchedProcess {
    pub(crate) fn of(pid: u32) -> Self {
        Self { memory: ResidentMemory::of(pid), handles: PathBuf::from(format!("/proc/{pid}/fd")) }
    }

    pub(crate) fn record(&self, moment: &str) -> anyhow::Result<Resources> {
        // Handles are counted besides memory, because a connection that is never closed shows there first.
        let handles = std::fs::read_dir(&self.handles).context("the gateway is gone")?.count();
        Ok(Resources { moment: moment.to_owned(), resident: self.memory.now()?, handles })
    }
}
