//! Limits of a call.

use std::time::Duration;

/// Limits of a call. Anything beyond a limit is rejected or cut, with a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// The defaults are chosen so that no single call can exhaust the context window, the memory or the patience of a user.
pub struct ToolLimits {
    /// Characters of an answer's text.
    pub output_chars: usize,
    /// Bytes of a call's arguments.
    pub argument_bytes: usize,
    /// Time of a file tool.
    pub file_time: Duration,
    /// Bytes of a file that is edited.
    pub edit_bytes: u64,
    /// Entries listed of a directory.
    pub list_entries: usize,
    /// Bytes of a search pattern or glob.
    pub pattern_bytes: usize,
    /// Matching lines in a search's answer.
    pub search_matches: usize,
    /// Directory entries that a search visits.
    pub search_entries: usize,
    /// Protected files mounted read-only for a command; each costs a mount or two. The rest is compared afterwards.
    pub mounts: usize,
    /// Time to look for protected files, before and after a command.
    pub watch_time: Duration,
    /// Time that a call waits for a decision.
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
