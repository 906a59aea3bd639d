//! Whole answers, and what they rest on.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::io::Errno;

use crate::fs::file::Stamp;
use crate::resolve::resolution::{Request, Resolution};
use crate::settings::FileSettings;

/// Something an answer rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A file or directory in this state.
    State(PathBuf, Stamp),
    /// There is nothing at this path.
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
                rustix::fs::stat(path).is_ok_and(|stat| Stamp::of(&stat) == *stamp)
            }
            Evidence::Nothing(path) => {
                rustix::fs::stat(path).is_err_and(|errno| matches!(errno, Errno::NOENT | Errno::NOTDIR))
            }
        }
    }
}

/// What an answer rests on, as far as it can be looked at again.
#[derive(Debug)]
pub(crate) struct CacheEvidence(Option<Vec<Evidence>>);

impl Default for CacheEvidence {
    /// Nothing yet.
    fn default() -> Self {
        Self(Some(Vec::new()))
    }
}

impl CacheEvidence {
    /// Something that cannot be looked at again cheaply.
    pub(crate) fn unknown() -> Self {
        Self(None)
    }

    /// A file or directory was in this state, believed only if it had been at rest.
    pub(crate) fn state(&mut self, path: &Path, stamp: Stamp, looked_at: SystemTime) {
        match &mut self.0 {
            Some(evidence) if stamp.is_settled(looked_at) => {
                evidence.push(Evidence::State(path.to_owned(), stamp));
            }
            _ => self.0 = None,
        }
    }

    /// There was nothing at this path.
    pub(crate) fn nothing(&mut self, path: &Path) {
        if let Some(evidence) = &mut self.0 {
            evidence.push(Evidence::Nothing(path.to_owned()));
        }
    }

    /// All that was noted here and there, each path once; none where something is unknown.
    pub(crate) fn join(self, other: CacheEvidence) -> Option<Vec<Evidence>> {
        let mut evidence = self.0?;
        evidence.extend(other.0?);
        let mut seen = HashSet::new();
        evidence.retain(|evidence| seen.insert(evidence.path().to_owned()));
        Some(evidence)
    }
}

/// An answer that holds as long as its evidence does.
#[derive(Debug)]
pub(super) struct Answer {
    cwd: PathBuf,
    settings: FileSettings,
    evidence: Vec<Evidence>,
    resolution: Arc<Resolution>,
}

impl Answer {
    pub(super) fn new(request: &Request<'_>, evidence: Vec<Evidence>, resolution: Arc<Resolution>) -> Self {
        Self { cwd: request.cwd.to_owned(), settings: request.settings.clone(), evidence, resolution }
    }

    /// Whether it answers this very question; two questions may share a key.
    pub(super) fn is_for(&self, request: &Request<'_>) -> bool {
        self.cwd.as_os_str() == request.cwd.as_os_str() && self.settings == *request.settings
    }

    pub(super) fn holds(&self) -> bool {
        self.evidence.iter().all(Evidence::holds)
    }

    pub(super) fn resolution(&self) -> Arc<Resolution> {
        Arc::clone(&self.resolution)
    }

    /// About how many bytes it holds: each file's text stands in it three times.
    pub(super) fn weight(&self) -> usize {
        let text = self.resolution.text.as_ref().map_or(0, String::len);
        let each = self.cwd.as_os_str().len() + 128;
        let lists = self.evidence.len() + self.resolution.decisions.len() + self.resolution.files.len();
        1_024 + 3 * text + each * lists
    }
}

/// Where an answer to a request is found. Only what differs between the requests of one process is hashed: every warm answer
/// pays for it, and [`Answer::is_for`] compares the rest.
pub(super) fn key(request: &Request<'_>) -> u64 {
    let FileSettings { profile, bounds, links, above_root, agents, audience, homes: _, private_paths: _ } =
        request.settings;
    let mut hasher = DefaultHasher::new();
    request.cwd.as_os_str().hash(&mut hasher);
    (profile, bounds, links, above_root, audience, &agents.fallback_filenames, &agents.root, &agents.initial)
        .hash(&mut hasher);
    hasher.finish()
}
