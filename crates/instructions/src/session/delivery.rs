//! Delivery of instruction files: as text or as a path.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::stored_path;
use crate::profile::{Profile, ReminderTexts};
use crate::session::FileVersion;
use crate::session::reminder::Reminder;
use crate::settings::INLINE_BYTES;
use crate::text::content_hash::ContentHash;

/// Content of reminders: texts or paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Paths only; the model reads the files.
    Pointer,
    /// Texts always.
    Inline,
    /// Texts of small files, paths of others.
    #[default]
    Auto,
}

/// Intended access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Applicable files are announced, with or without their text.
    Read,
    /// Applicable files must have been delivered before; others are sent with their text.
    Write,
}

/// Availability of a tool that can read announced files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileReader {
    /// Settings decide whether texts are included.
    #[default]
    Present,
    /// Texts are always included, because the model cannot follow a path.
    Absent,
}

/// A file that a tool returned to the model completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// Absolute path, as given in the call.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// SHA-256 of its bytes.
    pub sha256: ContentHash,
    /// Matching version of the instruction file; absent before the comparison, and in data of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<FileVersion>,
}

/// Instruction files delivered by one message.
#[derive(Debug, Clone, Copy)]
pub enum DeliveredText<'a> {
    /// A reminder.
    Reminder(&'a Reminder),
    /// A complete text in a tool's result.
    Read(&'a FileRead),
}

/// Remaining bytes of inline text for one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineBudget(u64);

impl InlineBudget {
    /// Inline bytes of one message.
    // A message that brings many files at once pushes the user's question far up. Beyond this size files are
    // named by path, or wait for the next message.
    pub const BYTES: u64 = 32_768;

    /// Creates a budget of `bytes`, at most the budget of one message.
    pub fn of(bytes: u64) -> Self {
        Self(bytes.min(Self::BYTES))
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.0
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

impl Default for InlineBudget {
    fn default() -> Self {
        Self(Self::BYTES)
    }
}

/// Form in which a file is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryForm {
    Path,
    /// With its text; by its path if no text fits.
    Text,
    /// With its text; in a later message if no text fits.
    TextOnly,
}

/// Returns the form in which to deliver a file.
pub(crate) fn delivery_form(
    bytes: u64,
    purpose: Purpose,
    reader: FileReader,
    delivery: Delivery,
    profile: &Profile,
) -> DeliveryForm {
    match (purpose, reader, profile.session.reminders.texts(), delivery) {
        // A write waits until the text has been delivered, and a pointer would never deliver it.
        (Purpose::Write, ..) | (_, FileReader::Absent, ..) => DeliveryForm::TextOnly,
        (_, _, ReminderTexts::Never, _) | (_, _, _, Delivery::Pointer) => DeliveryForm::Path,
        (_, _, _, Delivery::Inline) => DeliveryForm::Text,
        (_, _, _, Delivery::Auto) if bytes <= INLINE_BYTES => DeliveryForm::Text,
        (_, _, _, Delivery::Auto) => DeliveryForm::Path,
    }
}
