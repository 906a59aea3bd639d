//! Status and length of an edited text, as an editor shows them.

use std::time::Instant;

/// Status of an edited document, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditingStatus {
    /// The document has not been loaded yet.
    Loading,
    /// The text equals the gateway's document.
    Saved,
    /// The text has edits that will be saved soon.
    Unsaved,
    /// A save is in flight.
    Saving,
    /// The connection is lost; unsaved text is kept as a local draft.
    Offline,
    /// The document was changed elsewhere while it had local edits; the user must resolve the conflict.
    Conflict,
    /// The text contains conflict markers; it is saved once they are removed.
    Unmerged,
    /// The text exceeds the size limit; it is kept as a local draft until it is shorter.
    TooLong {
        /// Size of the text in bytes.
        bytes: usize,
        /// Size limit in bytes.
        limit: usize,
    },
    /// A save or fetch failed.
    Failed {
        /// Error message.
        message: String,
        /// Time of the next attempt. `None` if it needs a user action.
        retries_at: Option<Instant>,
    },
}

/// Length of a text compared with the share of it that fits in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CharacterCount {
    /// Characters in the text.
    pub count: usize,
    /// Characters that a prompt can carry.
    pub limit: usize,
}

impl CharacterCount {
    /// Returns true if a prompt would truncate the text.
    pub fn is_over(self) -> bool {
        self.count > self.limit
    }
}
