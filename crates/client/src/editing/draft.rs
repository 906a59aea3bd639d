//! What is kept of a document on this machine until the gateway has it.

use protocol::Version;
use serde::{Deserialize, Serialize};

use super::Editing;
use crate::Marks;

/// A text that the gateway does not have, and what it grew from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalDraft {
    /// The version the text grew from; 0: there was no document.
    pub base_version: Version,
    /// The text of that version: what a merge needs.
    pub base_text: String,
    /// What the user typed.
    pub text: String,
    /// The marks of merges that are left in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Marks>,
}

/// What to do with the stored draft of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftChange {
    /// Store this one, in place of the one before.
    Keep(LocalDraft),
    /// The gateway has everything.
    Forget,
}

impl Editing {
    /// What the gateway does not have; none when it has everything.
    pub fn draft(&self) -> Option<LocalDraft> {
        self.has_unsaved().then(|| LocalDraft {
            base_version: self.base.version,
            base_text: self.base.text.clone(),
            text: self.text.clone(),
            marks: self.marks.clone(),
        })
    }

    /// What to do with the stored draft, where that has changed since the last call. To be asked after every input, so
    /// that a crash loses nothing.
    pub fn take_draft_change(&mut self) -> Option<DraftChange> {
        let is_told = match &self.told_draft {
            None => !self.has_unsaved(),
            Some(told) => {
                self.has_unsaved()
                    && told.text == self.text
                    && told.base_version == self.base.version
                    && told.base_text == self.base.text
                    && told.marks == self.marks
            }
        };
        if is_told {
            return None;
        }
        self.told_draft = self.draft();
        Some(self.told_draft.clone().map_or(DraftChange::Forget, DraftChange::Keep))
    }
}
