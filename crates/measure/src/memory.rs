//! Memory of a process, current and peak.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

/// Resident memory of a process, read from `/proc`.
#[derive(Debug, Clone)]
pub struct ResidentMemory {
    process: PathBuf,
}

impl ResidentMemory {
    pub fn own() -> Self {
        Self { process: PathBuf::from("/proc/self") }
    }

    pub fn of(process_id: u32) -> Self {
        Self { process: PathBuf::from(format!("/proc/{process_id}")) }
    }

    pub fn now(&self) -> anyhow::Result<u64> {
        self.status("VmRSS")
    }

    /// Returns the peak in bytes since the start or the last [`ResidentMemory::reset_peak`].
    pub fn peak(&self) -> anyhow::Result<u64> {
        self.status("VmHWM")
    }

    /// Resets the peak. If the system does not allow that, it remains the peak of the whole run.
    pub fn reset_peak(&self) {
        // The value 5 resets only the high-water mark. The other values clear page flags, which would slow down the
        // process that is being measured.
        let _ = fs::write(self.process.join("clear_refs"), "5");
    }

    fn status(&self, key: &str) -> anyhow::Result<u64> {
        let path = self.process.join("status");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        field(&text, key).with_context(|| format!("{} has no {key}", path.display()))
    }
}

/// Parses a line such as `VmRSS:     1234 kB` into bytes.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_read_from_the_line_of_its_key() {
        assert_eq!(field("VmHWMs: 1 kB\nVmHWM:\t  12 kB\n", "VmHWM"), Some(12 * 1024));
        assert_eq!(field("VmHWM: many\n", "VmHWM"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_remains_after_memory_is_freed() -> anyhow::Result<()> {
        let memory = ResidentMemory::own();
        let before = memory.now()?;
        // Large enough for the allocator to return it to the system on drop.
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        assert!(memory.peak()? >= before + (48 << 20));
        Ok(())
    }
}
