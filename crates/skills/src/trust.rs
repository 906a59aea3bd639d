//! Trusted skills: the digest of every file.

pub(crate) mod candidate;
pub(crate) mod comparison;
pub(crate) mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::{ContentHash, stored_path};
use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// A trusted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// Path relative to the skill's folder.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: ContentHash,
}

/// A trusted skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSkill {
    /// Resolved path of the folder.
    #[serde(with = "stored_path")]
    pub folder: PathBuf,
    /// Slug at the time.
    pub slug: String,
    /// Time of the decision.
    pub trusted_at: Timestamp,
    /// All files, by path.
    pub files: Vec<PinnedFile>,
}

impl PinnedSkill {
    pub(crate) fn file(&self, path: &Path) -> Option<&PinnedFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// All trusted skills, by folder.
#[derive(Debug, Clone, Default)]
pub struct Trusted {
    skills: BTreeMap<PathBuf, Arc<PinnedSkill>>,
}

impl Trusted {
    /// Returns the skills in the order of their folders.
    pub fn skills(&self) -> impl Iterator<Item = &PinnedSkill> {
        self.skills.values().map(Arc::as_ref)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns the trusted skill of a resolved folder.
    pub(crate) fn of(&self, folder: &Path) -> Option<&Arc<PinnedSkill>> {
        self.skills.get(folder)
    }

    fn insert(&mut self, skill: PinnedSkill) {
        self.skills.insert(skill.folder.clone(), Arc::new(skill));
    }

    /// Removes the skills at or below a path.
    fn take_below(&mut self, path: &Path) -> Vec<PinnedSkill> {
        let folders: Vec<PathBuf> =
            self.skills.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        let taken = folders.iter().filter_map(|folder| self.skills.remove(folder));
        taken.map(Arc::unwrap_or_clone).collect()
    }
}
