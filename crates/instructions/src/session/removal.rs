//! Files that no longer apply, with the reason that the model reads.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fs::stored_path;
use crate::profile::NameRole;
use crate::resolve::applicable::Applicable;
use crate::resolve::render::shown;
use crate::session::FileVersion;
use crate::settings::FileSettings;
use crate::text::front_matter::audience_of;

/// Most bytes of a file that are read to find out why it no longer applies.
const MAX_BYTES: u64 = 65_536;

/// A file that no longer applies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemovedFile {
    /// Path of the file.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Reason; absent in reminders of older versions.
    pub reason: Option<RemovalReason>,
}

/// Reason why a file no longer applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// The file does not exist any more.
    Deleted,
    /// Another file of its directory is read instead.
    ReplacedBy(
        #[serde(with = "stored_path")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        PathBuf,
    ),
    /// The file is outside the project root.
    OutsideRoot,
    /// No file that applies imports it any more.
    NotImported,
    /// The file has become blank.
    Blank,
    /// The front matter names another audience.
    OtherAudience,
    /// Instruction files are switched off.
    SwitchedOff,
    /// The profile does not read the file for another reason, for example because it has become a link out of the project.
    NotRead,
}

impl fmt::Display for RemovalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::Deleted => return formatter.write_str("deleted"),
            Self::ReplacedBy(path) => return write!(formatter, "replaced by {}", shown(path)),
            Self::OutsideRoot => "outside the project root",
            Self::NotImported => "no file imports it",
            Self::Blank => "the file is blank",
            Self::OtherAudience => "it is for another audience",
            Self::SwitchedOff => "instruction files are switched off",
            Self::NotRead => "it is not read as an instruction file any more",
        };
        write!(formatter, "no longer applies: {reason}")
    }
}

impl RemovedFile {
    /// Finds out why a known file no longer applies below `top`, given all files that do.
    pub(crate) fn find(
        path: &Path,
        version: &FileVersion,
        top: &Path,
        settings: &FileSettings,
        applying: &[Applicable],
    ) -> Self {
        let reason = reason(path, version, top, settings, applying);
        Self { path: path.to_owned(), reason: Some(reason) }
    }
}

fn reason(
    path: &Path,
    version: &FileVersion,
    top: &Path,
    settings: &FileSettings,
    applying: &[Applicable],
) -> RemovalReason {
    if path.symlink_metadata().is_err() {
        return RemovalReason::Deleted;
    }
    if !settings.enabled() {
        return RemovalReason::SwitchedOff;
    }
    let home = settings.homes.of(settings.profile);
    let is_in_project = |directory: &Path| directory.starts_with(top) || Some(directory) == home;
    if !version.directory(path).is_some_and(is_in_project) {
        return RemovalReason::OutsideRoot;
    }
    if version.imported_by.is_some() {
        return RemovalReason::NotImported;
    }
    if let Some(text) = beginning(path) {
        if text.trim().is_empty() {
            return RemovalReason::Blank;
        }
        if audience_of(&text).0.is_some_and(|audience| audience != settings.audience) {
            return RemovalReason::OtherAudience;
        }
    }
    // Of the names that compete in a directory one wins. Names that are added to the winner replace nothing.
    let is_added = |path: &Path| {
        let name = path.file_name();
        settings.profile.names_with(NameRole::Added).any(|added| name == Some(added.as_ref()))
    };
    let replaces = |file: &&Applicable| {
        file.version.imported_by.is_none() && file.path.parent() == path.parent() && !is_added(&file.path)
    };
    match applying.iter().find(replaces).filter(|_| !is_added(path)) {
        Some(winner) => RemovalReason::ReplacedBy(winner.path.clone()),
        None => RemovalReason::NotRead,
    }
}

/// Returns the text of a small file; `None` for anything else.
fn beginning(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let is_small = metadata.is_file() && metadata.len() <= MAX_BYTES;
    is_small
        .then(|| std::fs::read(path).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The stored form. Reminders of older versions contain the path alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Path(#[serde(with = "stored_path")] PathBuf),
    WithReason {
        #[serde(with = "stored_path")]
        path: PathBuf,
        reason: RemovalReason,
    },
}

impl Serialize for RemovedFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = self.path.clone();
        let stored = match self.reason.clone() {
            None => Stored::Path(path),
            Some(reason) => Stored::WithReason { path, reason },
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RemovedFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Path(path) => Self { path, reason: None },
            Stored::WithReason { path, reason } => Self { path, reason: Some(reason) },
        })
    }
}
