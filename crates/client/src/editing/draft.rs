//! Local drafts: text that the gateway has not confirmed.

use protocol::Version;
use serde::{Deserialize, Serialize};

use super::Editing;
use crate::Marks;

/// An unconfirmed text and its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalDraft {
    /// Version that the text derives from, or 0 if there was no document.
    pub base_version: Version,
    /// Text of that version, needed for merging.
    pub base_text: String,
    /// The user's text.
    pub text: String,
    /// Conflict markers that are still in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Marks>,
}

/// Change to make to the stored draft of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftChange {
    /// Store this draft instead of the previous one.
    Keep(LocalDraft),
    /// Delete the stored draft.
    Forget,
}

impl Editing {
    /// Returns the unsaved text. `None` if everything is saved.
    pub fn draft(&self) -> Option<LocalDraft> {
        self.has_unsaved().then(|| LocalDraft {
            base_version: self.base.version,
            base_text: self.base.text.clone(),
            text: self.text.clone(),
            marks: self.marks.clone(),
        })
    }

    /// Returns the change to make to the stored draft since the last call. Call it after every input so that a crash loses
    /// nothing.
    pub fn take_draft_change(&mut self) -> Option<DraftChange> {
        // The fields are compared in place: building a draft would copy both texts after every key press.
        let is_reported = match &self.reported_draft {
            None => !self.has_unsaved(),
            Some(reported) => {
                self.has_unsaved()
                    && reported.text == self.text
                    && reported.base_version == self.base.version
                    && reported.base_text == self.base.text
                    && reported.marks == self.marks
            }
        };
        if is_reported {
            return None;
        }
        self.reported_draft = self.draft();
        Some(self.reported_draft.clone().map_or(DraftChange::Forget, DraftChange::Keep))
    }
}
