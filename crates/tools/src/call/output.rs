//! The answer of a call, and its sanitising.

use std::collections::BTreeSet;
use std::path::PathBuf;

use instructions::{FileRead, Reminder, neutralise, unsafe_parts};
use protocol::{CallEffects, Hint};

use crate::call::trim::{Keep, trim};

/// The answer of a call, before it is cut and becomes the result in a message.
///
/// Reminders are values beside the text and are never parsed from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// Text for the model.
    pub text: String,
    /// True if the call failed.
    pub is_error: bool,
    /// Reminders, each sent as a block of its own after the text.
    pub reminders: Vec<Reminder>,
    /// Remarks that are never cut. The router appends them to the text as `[foreword: …]`.
    pub notes: Vec<String>,
    /// Part of the text to keep if it is too long.
    pub keep: Keep,
    /// Advice for getting the removed part.
    pub remedy: Option<String>,
    /// Side effects, which clients see as well as the model.
    pub effects: CallEffects,
    /// Directories of files that the text names and that the arguments do not.
    pub found_directories: BTreeSet<PathBuf>,
    /// File whose whole content is the text.
    pub whole_file: Option<FileRead>,
}

impl ToolOutput {
    /// Creates the answer of a successful call.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates the answer of a failed call.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// Creates the answer of a failed call with the error's hint.
    pub fn failed(error: &impl Hint) -> Self {
        Self::error(error.with_hint())
    }

    /// Adds a reminder.
    pub fn with_reminder(mut self, reminder: Reminder) -> Self {
        self.reminders.push(reminder);
        self
    }

    /// Adds a remark.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets the advice for getting the removed part.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Sanitises the text, cuts it, and appends the notes.
    pub(crate) fn finish(mut self, max_chars: usize) -> Self {
        // Sanitised before cutting: escaping makes a text longer, and the limit applies to what is sent.
        let (text, note) = harmless(&self.text);
        self.notes.extend(note);
        self.text = match trim(&text, max_chars, self.keep) {
            None => text,
            Some(cut) => {
                // A file that was read only in part must not count as read.
                self.whole_file = None;
                let remedy = self.remedy.take().unwrap_or_else(|| "Ask for less at once.".to_owned());
                self.reminders.push(Reminder::ToolOutputTrimmed {
                    removed_bytes: cut.removed_bytes,
                    removed_lines: cut.removed_lines,
                    remedy,
                });
                cut.text
            }
        };
        for note in self.notes.drain(..) {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.text.push_str(&neutralise(&format!("[foreword: {note}]\n")));
        }
        self.remedy = None;
        self
    }
}

/// Returns foreign text as a model may read it, and a note if it was changed.
pub(crate) fn harmless(text: &str) -> (String, Option<String>) {
    let parts = unsafe_parts(text);
    if parts.is_empty() {
        return (text.to_owned(), None);
    }
    let (tags, hidden): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.shown == "&lt;");
    let tags = (!tags.is_empty()).then_some("tags that look like ours");
    let hidden = (!hidden.is_empty()).then_some("hidden characters");
    let what = tags.into_iter().chain(hidden).collect::<Vec<_>>().join(" and ");
    (
        neutralise(text).into_owned(),
        Some(format!("{what} are made visible; edits take the text as it is shown")),
    )
}
