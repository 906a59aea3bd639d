//! Differences between a skill's files and the trusted ones.

use std::fmt;
use std::path::{Path, PathBuf};

use instructions::ContentHash;

use super::PinnedSkill;
use crate::folder::FolderFile;

/// Kind of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustChangeKind {
    /// The content changed.
    Changed,
    /// The file was added.
    Added,
    /// The file was removed.
    Removed,
}

/// A file that differs from the trusted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustChange {
    /// Path relative to the skill's folder.
    pub path: PathBuf,
    /// Kind of difference.
    pub difference: TrustChangeKind,
    /// Hash of the trusted content.
    pub old: Option<ContentHash>,
    /// Hash of the current content.
    pub new: Option<ContentHash>,
}

impl fmt::Display for TrustChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.difference {
            TrustChangeKind::Changed => write!(formatter, "{path} has changed"),
            TrustChangeKind::Added => write!(formatter, "{path} is new"),
            TrustChangeKind::Removed => write!(formatter, "{path} is gone"),
        }
    }
}

/// Returns the files that differ, by path.
pub(crate) fn compare(pins: &PinnedSkill, files: &[FolderFile]) -> Vec<TrustChange> {
    let digest = |path: &Path| files.iter().find(|file| file.path == path).map(|file| &file.content.sha256);
    let mut changes = Vec::new();
    for pinned in &pins.files {
        let new = digest(&pinned.path);
        let difference = match new {
            Some(new) if *new == pinned.sha256 => continue,
            Some(_) => TrustChangeKind::Changed,
            None => TrustChangeKind::Removed,
        };
        let path = pinned.path.clone();
        let old = Some(pinned.sha256.clone());
        changes.push(TrustChange { path, difference, old, new: new.cloned() });
    }
    for file in files.iter().filter(|file| pins.file(&file.path).is_none()) {
        changes.push(TrustChange {
            path: file.path.clone(),
            difference: TrustChangeKind::Added,
            old: None,
            new: Some(file.content.sha256.clone()),
        });
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}
