//! A clock that is wrong: libfaketime shifts the one that people set. Those that only go forward stay as they are, or every
//! time limit would be wrong.

use std::path::PathBuf;

use crate::Launch;

/// The library, where Debian's package `faketime` puts it.
#[derive(Debug, Clone)]
pub struct ClockShift {
    library: PathBuf,
}

impl ClockShift {
    /// None where it is not installed.
    pub fn find() -> Option<Self> {
        let architectures = std::fs::read_dir("/usr/lib").ok()?.flatten();
        let mut candidates = architectures.map(|entry| entry.path().join("faketime/libfaketime.so.1"));
        candidates.find(|path| path.is_file()).map(|library| Self { library })
    }

    /// The same gateway with a clock that is so many seconds from the machine's.
    pub fn apply(&self, mut launch: Launch, seconds: i64) -> Launch {
        launch.variables.extend([
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME", format!("{seconds:+}").into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            // The name before version 0.9.9.
            ("DONT_FAKE_MONOTONIC", "1".into()),
            // Shared memory is for children that should see the same time, and would be left behind by a kill.
            ("FAKETIME_DISABLE_SHM", "1".into()),
        ]);
        launch
    }
}
