//! How much memory a process holds, and the most it ever held.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

/// The resident memory of one process, read from `/proc`.
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

    /// Most bytes held since the start, or since [`ResidentMemory::reset_peak`].
    pub fn peak(&self) -> anyhow::Result<u64> {
        self.status("VmHWM")
    }

    /// Forgets the peak. Where the system does not allow that, the peak stays that of the whole run.
    pub fn reset_peak(&self) {
        let _ = fs::write(self.process.join("clear_refs"), "5");
    }

    fn status(&self, key: &str) -> anyhow::Result<u64> {
        let path = self.process.join("status");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        field(&text, key).with_context(|| format!("{} has no {key}", path.display()))
    }
}

/// A line such as `VmRSS:     1234 kB`, in bytes.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_are_read_from_the_line_of_their_key() {
        assert_eq!(field("VmHWMs: 1 kB\nVmHWM:\t  12 kB\n", "VmHWM"), Some(12 * 1024));
        assert_eq!(field("VmHWM: many\n", "VmHWM"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_peak_outlives_what_made_it() -> anyhow::Result<()> {
        let memory = ResidentMemory::own();
        let before = memory.now()?;
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        assert!(memory.peak()? >= before + (48 << 20));
        Ok(())
    }
}
