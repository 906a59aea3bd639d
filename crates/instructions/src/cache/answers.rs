//! Whole answers with their evidence.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::io::Errno;

use crate::fs::file::Stamp;
use crate::resolve::resolution::{Request, Resolution};
use crate::settings::FileSettings;

/// A fact that an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A file or directory has this state.
    State(PathBuf, Stamp),
    /// Nothing exists at this path.
    Nothing(PathBuf),
}

impl Evidence {
    fn path(&self) -> &Path {
        match self {
            Evidence::State(path, _) | Evidence::Nothing(path) => path,
        }
    }

    fn holds(&self) -> bool {
        match self {
            Evidence::State(path, stamp) => {
                // `stat` follows symlinks, so the evidence also covers a change of their targets.
                rustix::fs::stat(path).is_ok_and(|stat| Stamp::of(&stat) == *stamp)
            }
            Evidence::Nothing(path) => {
                // Other errors, such as a denied permission, do not prove that nothing is there.
                rustix::fs::stat(path).is_err_and(|errno| matches!(errno, Errno::NOENT | Errno::NOTDIR))
            }
        }
    }
}

/// Facts that an answer depends on, or nothing if one cannot be verified cheaply.
#[derive(Debug)]
pub(crate) struct CacheEvidence(Option<Vec<Evidence>>);

impl Default for CacheEvidence {
    /// No facts yet.
    fn default() -> Self {
        Self(Some(Vec::new()))
    }
}

impl CacheEvidence {
    /// Evidence that cannot be verified cheaply.
    pub(crate) fn unknown() -> Self {
        Self(None)
    }

    /// Adds the state of a file or directory. One that was not at rest makes the evidence useless.
    pub(crate) fn state(&mut self, path: &Path, stamp: Stamp, looked_at: SystemTime) {
        match &mut self.0 {
            Some(evidence) if stamp.is_settled(looked_at) => {
                evidence.push(Evidence::State(path.to_owned(), stamp));
            }
            // One fact that cannot be trusted makes the whole answer uncacheable; a partial check could return a
            // stale answer.
            _ => self.0 = None,
        }
    }

    /// Adds that nothing exists at a path.
    pub(crate) fn nothing(&mut self, path: &Path) {
        if let Some(evidence) = &mut self.0 {
            evidence.push(Evidence::Nothing(path.to_owned()));
        }
    }

    /// Merges two lists of facts, each path once. `None` if something is unknown.
    pub(crate) fn join(self, other: CacheEvidence) -> Option<Vec<Evidence>> {
        let mut evidence = self.0?;
        evidence.extend(other.0?);
        let mut seen = HashSet::new();
        evidence.retain(|evidence| seen.insert(evidence.path().to_owned()));
        Some(evidence)
    }
}

/// An answer that is valid as long as its evidence holds.
#[derive(Debug)]
pub(super) struct CachedAnswer {
    cwd: PathBuf,
    settings: FileSettings,
    evidence: Vec<Evidence>,
    resolution: Arc<Resolution>,
}

impl CachedAnswer {
    pub(super) fn new(request: &Request<'_>, evidence: Vec<Evidence>, resolution: Arc<Resolution>) -> Self {
        Self { cwd: request.cwd.to_owned(), settings: request.settings.clone(), evidence, resolution }
    }

    /// Returns true if it answers exactly this request. Two requests may share a key.
    pub(super) fn is_for(&self, request: &Request<'_>) -> bool {
        self.cwd.as_os_str() == request.cwd.as_os_str() && self.settings == *request.settings
    }

    pub(super) fn holds(&self) -> bool {
        self.evidence.iter().all(Evidence::holds)
    }

    pub(super) fn resolution(&self) -> Arc<Resolution> {
        Arc::clone(&self.resolution)
    }

    /// Returns its approximate size in bytes. It holds each file's text three times.
    pub(super) fn weight(&self) -> usize {
        let text = self.resolution.text.as_ref().map_or(0, String::len);
        let each = self.cwd.as_os_str().len() + 128;
        let lists = self.evidence.len() + self.resolution.decisions.len() + self.resolution.files.len();
        // An estimate is enough: it only bounds memory, and exact sizes would require a walk over every string.
        1_024 + 3 * text + each * lists
    }
}

/// Returns the key of a request. Only fields that differ between the requests of one process are hashed: every warm
/// answer pays for it, and [`CachedAnswer::is_for`] compares the rest.
pub(super) fn key(request: &Request<'_>) -> u64 {
    let FileSettings {
        profile,
        bounds,
        links,
        above_root,
        agents,
        audience,
        unsafe_text,
        homes: _,
        private_paths: _,
        source: _,
    } = request.settings;
    let mut hasher = DefaultHasher::new();
    request.cwd.as_os_str().hash(&mut hasher);
    (profile, bounds, links, above_root, audience, unsafe_text).hash(&mut hasher);
    (&agents.fallback_filenames, &agents.root, &agents.initial).hash(&mut hasher);
    hasher.finish()
}
