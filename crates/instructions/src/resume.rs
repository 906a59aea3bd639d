//! What changed between a stored session and the present.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::applicable::applicable;
use crate::cache::Cache;
use crate::path;
use crate::reminder::{Reminder, ReminderFile};
use crate::resolution::{Request, ResolveError, resolve};
use crate::session::{LoadedVersion, Read, Session};

/// The differences; nothing of them counts as told before [`ResumeDifference::confirm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeDifference {
    cwd: (PathBuf, PathBuf),
    root: (Option<PathBuf>, Option<PathBuf>),
    markers: (Vec<String>, Vec<String>),
    files: Vec<(PathBuf, LoadedVersion)>,
    removed: Vec<PathBuf>,
}

impl ResumeDifference {
    /// Compares a stored session with the disk, for the directory the request names.
    pub fn find(
        session: &Session,
        request: &Request<'_>,
        cache: Option<&Cache>,
    ) -> Result<Self, ResolveError> {
        let now = resolve(request, cache)?;
        let top = now.root.as_deref().unwrap_or(&now.cwd).to_owned();
        let mut applying = applicable(request, &top, request.cwd, cache)?.files;
        let scope = path::chain(&top, request.cwd);
        let elsewhere = elsewhere(session, &top, &scope);
        for directory in &elsewhere {
            let there = applicable(request, &top, directory, cache)?.files;
            applying.extend(there.into_iter().filter(|file| file.path.parent() == Some(directory)));
        }
        let mut files: Vec<(PathBuf, LoadedVersion)> = applying
            .iter()
            .filter(|file| file.differs(session.loaded_versions.get(&file.path), request.settings.profile))
            .map(|file| (file.path.clone(), file.version.clone()))
            .collect();
        let home = now.files.iter().filter(|file| !file.path.starts_with(&top));
        for file in home {
            let version =
                LoadedVersion { mtime_ms: file.mtime_ms, size: file.bytes, sha256: file.sha256.clone() };
            // The limit does not count for the user's own file: it is cut only where it was not read further.
            let read = if file.truncated { Read::InPart } else { Read::Whole };
            let known = session.loaded_versions.get(&file.path);
            if known.is_none_or(|known| version.content_differs(known, read)) {
                files.insert(0, (file.path.clone(), version));
            }
        }
        let in_scope = |path: &Path| {
            path.parent().is_some_and(|parent| scope.iter().chain(&elsewhere).any(|known| known == parent))
        };
        let applies = |path: &Path| {
            applying.iter().any(|file| file.path == path) || now.files.iter().any(|file| file.path == path)
        };
        let removed = session
            .loaded_versions
            .keys()
            .filter(|path| !applies(path) && (in_scope(path) || path.symlink_metadata().is_err()))
            .cloned()
            .collect();
        Ok(Self {
            cwd: (session.cwd.clone(), now.cwd.clone()),
            root: (session.root.clone(), now.root.clone()),
            markers: (session.markers.clone(), now.markers.clone()),
            files,
            removed,
        })
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.cwd.0 == self.cwd.1
            && self.root.0 == self.root.1
            && self.markers.0 == self.markers.1
            && self.files.is_empty()
            && self.removed.is_empty()
    }

    /// What to tell the model; none when nothing differs.
    pub fn reminder(&self) -> Option<Reminder> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let root = |root: &Option<PathBuf>| root.as_deref().map_or_else(|| "none".to_owned(), shown);
        (!self.is_empty()).then(|| Reminder::SessionResumeDiff {
            cwd: (shown(&self.cwd.0), shown(&self.cwd.1)),
            root: (root(&self.root.0), root(&self.root.1)),
            markers: self.markers.clone(),
            files: self
                .files
                .iter()
                .map(|(path, version)| ReminderFile {
                    path: path.clone(),
                    mtime_ms: version.mtime_ms,
                    sha256: Some(version.sha256.clone()),
                    block: None,
                })
                .collect(),
            removed: self.removed.clone(),
        })
    }

    /// Says that the reminder has really been attached to a message: the session is now where the disk is.
    ///
    /// The initial text stays as it was: it is frozen for the session's life.
    pub fn confirm(self, session: &mut Session) {
        session.cwd = self.cwd.1;
        session.root = self.root.1;
        session.markers = self.markers.1;
        for (path, version) in self.files {
            session.covered_dirs.extend(path.parent().map(Path::to_owned));
            session.loaded_versions.insert(path, version);
        }
        for path in self.removed {
            session.loaded_versions.remove(&path);
        }
    }
}

/// Directories of the project that the session met on its way and that the present one is not below.
fn elsewhere(session: &Session, top: &Path, scope: &[PathBuf]) -> BTreeSet<PathBuf> {
    let directories = session.loaded_versions.keys().filter_map(|path| path.parent());
    directories
        .filter(|directory| directory.starts_with(top) && !scope.iter().any(|known| known == directory))
        .map(Path::to_owned)
        .collect()
}
