//! A file that a guard locks while a process of its command may run.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

/// Beginning of the line with the time.
const ENDED: &str = "ended ";

pub(super) struct HeldFile(File);

impl HeldFile {
    pub(super) fn lock(path: &OsStr) -> io::Result<Self> {
        // Not created: a file that is gone belongs to a gateway that has given up the command.
        let file = File::options().append(true).open(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Writes the time and releases the lock.
    pub(super) fn release(mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Without the time, all changes count as the command's, which is the safe side.
        let _ = writeln!(self.0, "{ENDED}{} {}", now.as_secs(), now.subsec_nanos());
    }
}

/// Returns the time, in seconds and nanoseconds, that a guard has appended to the file it held. `None` if the guard was killed.
pub fn when_released(appended: &str) -> Option<(i64, u64)> {
    let (seconds, nanoseconds) = appended.lines().next()?.strip_prefix(ENDED)?.split_once(' ')?;
    Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
}
