//! What the user has trusted: the digest of every file of a skill.

pub(crate) mod candidate;
pub(crate) mod comparison;
pub(crate) mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::{ContentHash, stored_path};
use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// A file as it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// Below the skill's folder.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Of its bytes.
    pub sha256: ContentHash,
}

/// A skill as it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedSkill {
    /// Its folder, without links.
    #[serde(with = "stored_path")]
    pub folder: PathBuf,
    /// What it was called.
    pub slug: String,
    /// When it was trusted.
    pub trusted_at: Timestamp,
    /// All its files, by path.
    pub files: Vec<PinnedFile>,
}

impl PinnedSkill {
    pub(crate) fn file(&self, path: &Path) -> Option<&PinnedFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Every skill that is trusted, by its folder.
#[derive(Debug, Clone, Default)]
pub struct Trusted {
    skills: BTreeMap<PathBuf, Arc<PinnedSkill>>,
}

impl Trusted {
    /// The skills in the order of their folders.
    pub fn skills(&self) -> impl Iterator<Item = &PinnedSkill> {
        self.skills.values().map(Arc::as_ref)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// What is trusted of a folder that is named without links.
    pub(crate) fn of(&self, folder: &Path) -> Option<&Arc<PinnedSkill>> {
        self.skills.get(folder)
    }

    fn insert(&mut self, skill: PinnedSkill) {
        self.skills.insert(skill.folder.clone(), Arc::new(skill));
    }

    /// Takes out what is at a path or below it.
    fn take_below(&mut self, path: &Path) -> Vec<PinnedSkill> {
        let folders: Vec<PathBuf> =
            self.skills.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        let taken = folders.iter().filter_map(|folder| self.skills.remove(folder));
        taken.map(Arc::unwrap_or_clone).collect()
    }
}
