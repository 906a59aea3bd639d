//! Ways to resolve a conflict.

use std::time::Instant;

use protocol::SaveReason;

use super::{Editing, ScheduledSave};
use crate::{Merged, merge};

impl Editing {
    /// Returns the merge of both texts during a conflict. It has no markers if the edits do not overlap.
    pub fn merged(&self) -> Option<Merged> {
        self.remote.as_ref().map(|remote| merge(&self.base.text, &self.text, &remote.text))
    }

    /// Resolves the conflict with the gateway's text and returns the discarded text.
    pub fn take_remote(&mut self) -> Option<String> {
        // This text may never have been saved, so the caller gets it back instead of losing it.
        let remote = self.remote.take()?;
        let given_up = std::mem::replace(&mut self.text, remote.text.clone());
        self.text_epoch += 1;
        self.base = remote;
        self.due = None;
        self.marks.clear();
        self.drop_failed_save();
        Some(given_up)
    }

    /// Resolves the conflict with the user's text, which is saved once it has no conflict markers.
    pub fn overwrite_remote(&mut self, now: Instant) {
        if let Some(remote) = self.remote.take() {
            // With the remote version as its base, the save is accepted instead of causing the same conflict again.
            self.base = remote;
            self.drop_failed_save();
            self.due = Some(ScheduledSave { at: now, reason: SaveReason::Manual });
        }
    }

    /// Resolves the conflict with the merged text. If it has markers, it is saved once the user has removed them.
    pub fn take_merge(&mut self, now: Instant) {
        let Some(merged) = self.merged() else { return };
        let Some(remote) = self.remote.take() else { return };
        self.base = remote;
        self.drop_failed_save();
        // Markers of an earlier merge may still be in a cleanly merged text, so keep tracking them.
        match merged {
            Merged::Clean(text) => self.replace_text(text),
            Merged::Marked { text, marks } => {
                self.marks.push(marks);
                self.replace_text(text);
            }
        }
        // A merge that equals the gateway's text needs no save.
        self.due = self.has_unsaved().then_some(ScheduledSave { at: now, reason: SaveReason::Manual });
    }
}
