//! What a user can do about a conflict.

use std::time::Instant;

use protocol::SaveReason;

use super::{Due, Editing};
use crate::{Merged, merge};

impl Editing {
    /// In a conflict, what the two texts come to: without marks where the edits do not touch each other.
    pub fn merged(&self) -> Option<Merged> {
        self.remote.as_ref().map(|remote| merge(&self.base.text, &self.text, &remote.text))
    }

    /// Ends a conflict with what the gateway has. Gives back the text that is no longer shown.
    pub fn take_remote(&mut self) -> Option<String> {
        let remote = self.remote.take()?;
        let given_up = std::mem::replace(&mut self.text, remote.text.clone());
        self.text_epoch += 1;
        self.base = remote;
        self.due = None;
        self.marks.clear();
        self.forget_failed_save();
        Some(given_up)
    }

    /// Ends a conflict with the user's text, which replaces what the gateway has, once no marks of a merge are in it.
    pub fn overwrite_remote(&mut self, now: Instant) {
        if let Some(remote) = self.remote.take() {
            self.base = remote;
            self.forget_failed_save();
            self.due = Some(Due { at: now, reason: SaveReason::Manual });
        }
    }

    /// Ends a conflict with both texts. With marks in it, the text is saved when the user has edited them away.
    pub fn take_merge(&mut self, now: Instant) {
        let (Some(merged), Some(remote)) = (self.merged(), self.remote.take()) else { return };
        self.base = remote;
        self.forget_failed_save();
        // A clean merge leaves the marks of one before it in the text.
        match merged {
            Merged::Clean(text) => self.replace_text(text),
            Merged::Marked { text, marks } => {
                self.marks.push(marks);
                self.replace_text(text);
            }
        }
        self.due = self.has_unsaved().then_some(Due { at: now, reason: SaveReason::Manual });
    }
}
