//! What a call answers, and how it is made fit to be sent.

use std::collections::BTreeSet;
use std::path::PathBuf;

use instructions::{FileRead, Reminder, neutralise, unsafe_parts};
use protocol::{CallEffects, Hint};

use crate::trim::{Keep, trim};

/// What a call answers, before it is cut to what fits and becomes the result in a message.
///
/// Reminders stand beside the text as values; nothing is ever read back from the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the model is told besides, each as a block of its own after the text.
    pub reminders: Vec<Reminder>,
    /// Remarks of a tool that no cut removes. The router puts them under the text, as `[foreword: …]`.
    pub notes: Vec<String>,
    /// Which part of a text that is too long is kept.
    pub keep: Keep,
    /// How to get what a cut removes.
    pub remedy: Option<String>,
    /// What the call did besides, which is told to everybody and not only to the model.
    pub effects: CallEffects,
    /// Directories of files that the text names and that the call's arguments do not: known only now.
    pub found_directories: BTreeSet<PathBuf>,
    /// The file of which the text is the whole, if it is.
    pub whole_file: Option<FileRead>,
}

impl ToolOutput {
    /// The answer of a call that did what it should.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The answer of a call that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// The answer of a call that failed, with what to do about it.
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

    /// Says how to get what a cut removes.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Makes the text harmless, cuts what is too long, and puts the notes under the text.
    pub(crate) fn finish(mut self, max_chars: usize) -> Self {
        let (text, note) = harmless(&self.text);
        self.notes.extend(note);
        self.text = match trim(&text, max_chars, self.keep) {
            None => text,
            Some(cut) => {
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

/// A text of others as a model may read it, and a note if that is not how it was.
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
