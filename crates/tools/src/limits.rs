//! How much a call may cost.

use std::time::Duration;

/// How much a call may cost. What is beyond a limit is refused or cut, and said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Characters of a call's text.
    pub output_chars: usize,
    /// Bytes of a call's arguments.
    pub argument_bytes: usize,
    /// How long a file tool may take.
    pub file_time: Duration,
    /// Bytes of a file that is edited.
    pub edit_bytes: u64,
    /// Entries of a directory that are listed.
    pub list_entries: usize,
    /// Bytes of a search pattern or glob.
    pub pattern_bytes: usize,
    /// Lines that a search answers with.
    pub search_matches: usize,
    /// Entries that a search looks at.
    pub search_entries: usize,
    /// Protected files that are mounted read-only for a command: each costs a mount, or two. What is beyond is looked at
    /// afterwards.
    pub mounts: usize,
    /// How long protected files are looked for, before a command and after it.
    pub watch_time: Duration,
    /// How long a call waits for somebody to decide.
    pub approval_time: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            output_chars: 30_000,
            argument_bytes: 16 << 20,
            file_time: Duration::from_secs(30),
            edit_bytes: 16 << 20,
            list_entries: 1_000,
            pattern_bytes: 4_096,
            search_matches: 200,
            search_entries: 500_000,
            mounts: 400,
            watch_time: Duration::from_secs(5),
            approval_time: Duration::from_secs(600),
        }
    }
}
