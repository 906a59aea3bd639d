//! Whether a file's text comes with the reminder that names it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::stored_path;
use crate::profile::{Profile, ReminderTexts};
use crate::session::LoadedVersion;
use crate::session::reminder::Reminder;
use crate::settings::INLINE_BYTES;
use crate::text::content_hash::ContentHash;

/// Whether a reminder carries texts or only paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Only paths; the model reads.
    Pointer,
    /// Always the texts.
    Inline,
    /// The texts of small files, the paths of others.
    #[default]
    Auto,
}

/// What a path is touched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Files that apply are announced, with or without their text.
    Read,
    /// Files that apply must have been delivered before; what has not been comes with its text.
    Write,
}

/// Whether the model has a tool that could read a file it is pointed to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileReader {
    /// Settings decide whether a text comes along.
    #[default]
    Present,
    /// Every text comes inline: a path would lead nowhere.
    Absent,
}

/// A file that a tool gave the model whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// Its path as the call had it, absolute.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// SHA-256 of its bytes.
    pub sha256: ContentHash,
    /// The version of the instruction file that this is; absent before it was compared, and in what older versions of this
    /// program kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<LoadedVersion>,
}

/// What a message tells of instruction files.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// By a reminder.
    Reminder(&'a Reminder),
    /// By the whole text, in a tool's result.
    Read(&'a FileRead),
}

/// What is left of the bytes that one message may bring inline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineRoom(u64);

impl InlineRoom {
    /// What a message that brings nothing yet has.
    pub const BYTES: u64 = 32_768;

    /// What a message has that may bring this much, or less than it could otherwise.
    pub fn of(bytes: u64) -> Self {
        Self(bytes.min(Self::BYTES))
    }

    pub(crate) fn left(&self) -> u64 {
        self.0
    }

    pub(crate) fn take(&mut self, bytes: u64) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

impl Default for InlineRoom {
    fn default() -> Self {
        Self(Self::BYTES)
    }
}

/// How a file of some size is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Path,
    /// With its text; where there is no room for any of it, by its path.
    Text,
    /// With its text; where there is no room for any of it, in a later message.
    TextOnly,
}

/// Decides how a file is told.
pub(crate) fn telling(
    size: u64,
    purpose: Purpose,
    reader: FileReader,
    delivery: Delivery,
    profile: &Profile,
) -> Telling {
    match (purpose, reader, profile.reminder_texts, delivery) {
        // A pointer would leave a write waiting for a text that never comes.
        (Purpose::Write, ..) | (_, FileReader::Absent, ..) => Telling::TextOnly,
        (_, _, ReminderTexts::Never, _) | (_, _, _, Delivery::Pointer) => Telling::Path,
        (_, _, _, Delivery::Inline) => Telling::Text,
        (_, _, _, Delivery::Auto) if size <= INLINE_BYTES => Telling::Text,
        (_, _, _, Delivery::Auto) => Telling::Path,
    }
}
