//! Resource limits of a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Resource limits of a command. All but the time and the temporary files apply to each of its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Time limit.
    pub time: Duration,
    /// Processes and threads: the command's own if it is isolated, else in addition to those that the user already has.
    pub processes: u64,
    /// Open files per process.
    pub open_files: u64,
    /// Bytes of a written file.
    pub file_bytes: u64,
    /// Bytes of private memory per process. The system does not count shared memory.
    pub memory_bytes: u64,
    /// Bytes of temporary files of an isolated command.
    pub temporary_bytes: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            processes: 512,
            open_files: 4_096,
            file_bytes: 8 << 30,
            memory_bytes: 8 << 30,
            temporary_bytes: 1 << 30,
        }
    }
}

#[cfg(target_os = "linux")]
impl ResourceLimits {
    /// Limits this process and its successors. `others` is the number of tasks of the same user that count, too.
    pub(crate) fn apply(&self, others: u64) -> std::io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let time = self.time.as_secs().saturating_add(1);
        for (resource, limit) in [
            (Resource::Nproc, self.processes.saturating_add(others)),
            (Resource::Nofile, self.open_files),
            (Resource::Fsize, self.file_bytes),
            (Resource::Data, self.memory_bytes),
            (Resource::Cpu, time),
            (Resource::Core, 0),
        ] {
            // A hard limit cannot be raised, and a lower one set by the administrator should stay.
            let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
            setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
        }
        Ok(())
    }
}

/// Counts the tasks of this user, which the kernel counts against the process limit.
#[cfg(target_os = "linux")]
pub(crate) fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let processes = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_process));
    let tasks = processes.filter_map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        (field("Uid:")? == u64::from(user)).then(|| field("Threads:").unwrap_or(1))
    });
    tasks.sum()
}
