//! Access of one resolution to the file system, through the cache.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use rustix::io::Errno;

use super::answers::CacheEvidence;
use super::memory::Memory;
use super::{Cache, DIRECTORIES, NAME_SETS};
use crate::fs::file::{Bounds, Found, Stamp};
use crate::fs::source::{EntryState, FileSource};

/// Maximum number of names with a bit in [`KnownDirectory`]. Larger sets bypass the cache.
const MAX_NAMES: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    stamp: Stamp,
    settled: bool,
    max_bytes: u64,
    bounds: u64,
    found: Found,
}

/// Known names of a directory, one bit per name.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownDirectory {
    stamp: Option<Stamp>,
    settled: bool,
    absent: u64,
    /// Names that exist. A marker that is a symlink is not recorded.
    present: u64,
}

impl KnownDirectory {
    /// Nothing is known about the directory.
    const UNKNOWN: Self = Self { stamp: None, settled: false, absent: 0, present: 0 };
    /// The directory does not exist, so neither does anything in it.
    const NOWHERE: Self = Self { stamp: None, settled: true, absent: u64::MAX, present: 0 };
}

/// Access of one resolution to the file system.
pub(crate) struct DirectoryReader<'a> {
    source: &'a FileSource,
    cache: Option<&'a Cache>,
    names: &'a [String],
    names_id: u64,
    bounds_id: u64,
    looked_at: SystemTime,
    /// Buffer for paths, so that absent names cost no allocation.
    path: PathBuf,
    /// Directories in the order of access. Lookups mostly hit the last one, so they search from the end.
    seen: Vec<(PathBuf, KnownDirectory, Learned)>,
    /// Facts that the answer depends on.
    pub(crate) evidence: CacheEvidence,
}

/// New knowledge about a directory that the cache does not have yet.
#[derive(PartialEq, Eq)]
enum Learned {
    Nothing,
    Something,
}

impl<'a> DirectoryReader<'a> {
    /// Creates a reader. Names are identified by their index in `names`.
    pub(crate) fn new(source: &'a FileSource, cache: Option<&'a Cache>, names: &'a [String]) -> Self {
        // Larger sets of names than there are bits bypass the cache. A snapshot keeps its contents itself, and its paths
        // are those of other files on disk.
        let cache = cache.filter(|_| names.len() <= MAX_NAMES && source.snapshot().is_none());
        let mut names_id = 0;
        if cache.is_some() {
            let mut hasher = DefaultHasher::new();
            names.hash(&mut hasher);
            names_id = hasher.finish();
        }
        let evidence = if cache.is_some() { CacheEvidence::default() } else { CacheEvidence::unknown() };
        let looked_at = SystemTime::now();
        let path = PathBuf::with_capacity(256);
        Self { source, cache, names, names_id, bounds_id: 0, looked_at, path, seen: Vec::new(), evidence }
    }

    /// Marks the answer as dependent on something that cannot be verified cheaply.
    pub(crate) fn disable_caching(&mut self) {
        self.evidence = CacheEvidence::unknown();
    }

    /// Returns a name by its index.
    pub(crate) fn name(&self, index: usize) -> &'a str {
        &self.names[index]
    }

    /// Returns the number of names.
    pub(crate) fn names(&self) -> usize {
        self.names.len()
    }

    /// Sets the directory that candidates must not leave, and those that they must not enter.
    pub(crate) fn bound_by(&mut self, root: Option<&Path>, private_paths: &[PathBuf]) {
        if self.cache.is_some() {
            let mut hasher = DefaultHasher::new();
            // A file may be readable under one bound and forbidden under another, so cached contents are kept apart by
            // bounds.
            (root, private_paths).hash(&mut hasher);
            self.bounds_id = hasher.finish();
        }
    }

    /// Returns the file type that a path leads to.
    pub(crate) fn kind(&mut self, path: &Path) -> Result<&'static str, Errno> {
        let state = self.source.state(path);
        if self.cache.is_some() {
            self.remember(path, state);
        }
        state.map(|state| state.kind_name())
    }

    /// Looks for a marker in a directory. A symlink counts if it has a target.
    pub(crate) fn has_marker(&mut self, directory: &Path, name: usize) -> Marker {
        let bit = self.bit(name);
        let known = self.directory(directory);
        if known.settled && known.absent & bit != 0 {
            return Marker::Absent;
        }
        if known.settled && known.present & bit != 0 {
            return Marker::Present;
        }
        let path = self.path_of(directory, name);
        let marker = self.marker(directory, &path, bit);
        self.path = path;
        marker
    }

    fn marker(&mut self, directory: &Path, path: &Path, bit: u64) -> Marker {
        match self.source.own_state(path) {
            Ok(state) if state.is_link() => {
                // The target may appear or vanish without a change of this directory.
                self.evidence = CacheEvidence::unknown();
                match self.source.state(path) {
                    Ok(_) => Marker::Present,
                    Err(_) => Marker::Dangling,
                }
            }
            Ok(_) => {
                self.learn(directory, |known| known.present |= bit);
                Marker::Present
            }
            // Only a definite absence is recorded; a name without a bit has nowhere to be recorded.
            Err(Errno::NOENT) if bit != 0 => {
                self.learn(directory, |known| known.absent |= bit);
                Marker::Absent
            }
            Err(_) => {
                self.evidence = CacheEvidence::unknown();
                Marker::Absent
            }
        }
    }

    /// Reads a candidate, from the cache if it cannot have changed.
    pub(crate) fn read(
        &mut self,
        directory: &Path,
        name: usize,
        bounds: &Bounds<'_>,
        max_bytes: u64,
    ) -> Found {
        let path = self.path_of(directory, name);
        let found = match self.cache {
            None => self.source.read(&path, bounds, max_bytes),
            Some(cache) => match self.bit(name) {
                0 => self.read_path(&path, bounds, max_bytes),
                bit => self.read_again(cache, directory, &path, bit, bounds, max_bytes),
            },
        };
        self.path = path;
        found
    }

    /// Reads a path outside the list of names, from the cache if it cannot have changed.
    pub(crate) fn read_path(&mut self, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        let Some(cache) = self.cache else { return self.source.read(path, bounds, max_bytes) };
        let found = self.read_file(cache, path, bounds, max_bytes);
        match &found {
            Found::File { stamp, content } if !content.unsteady => {
                self.evidence.state(path, *stamp, self.looked_at);
            }
            Found::NotAFile { stamp, .. } => self.evidence.state(path, *stamp, self.looked_at),
            Found::Absent => self.evidence.nothing(path),
            _ => self.evidence = CacheEvidence::unknown(),
        }
        found
    }

    /// Returns a name's bit. Zero for names with a slash: changes of their inner directory do not show in the outer
    /// one.
    fn bit(&self, name: usize) -> u64 {
        if self.names[name].contains('/') { 0 } else { shifted(name) }
    }

    /// Returns the path of a name in a directory. The caller returns the buffer to `self.path`.
    fn path_of(&mut self, directory: &Path, name: usize) -> PathBuf {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push(directory);
        path.push(&self.names[name]);
        path
    }

    fn read_again(
        &mut self,
        cache: &Cache,
        directory: &Path,
        path: &Path,
        bit: u64,
        bounds: &Bounds<'_>,
        max_bytes: u64,
    ) -> Found {
        let known = self.directory(directory);
        if known.settled && known.absent & bit != 0 {
            return Found::Absent;
        }
        // Most names are absent. This single call detects that, and distinguishes it from a symlink without a
        // target.
        // A name that is known to exist skips this call, because opening the file detects its removal anyway.
        if known.present & bit == 0 {
            match self.source.own_state(path) {
                Err(Errno::NOENT) => {
                    self.learn(directory, |known| known.absent |= bit);
                    return Found::Absent;
                }
                Ok(_) => self.learn(directory, |known| known.present |= bit),
                Err(_) => {}
            }
        }
        let found = self.read_file(cache, path, bounds, max_bytes);
        match &found {
            Found::File { stamp, content } if !content.unsteady => {
                self.evidence.state(path, *stamp, self.looked_at);
            }
            Found::NotAFile { stamp, .. } => self.evidence.state(path, *stamp, self.looked_at),
            // This includes symlinks without a target, which may appear without a change of this directory.
            _ => self.evidence = CacheEvidence::unknown(),
        }
        found
    }

    fn read_file(&self, cache: &Cache, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        if let Some((stamp, found)) = self.known_file(cache, path, max_bytes)
            && self.source.state(path).is_ok_and(|state| state.stamp == stamp)
        {
            return found;
        }
        let found = self.source.read(path, bounds, max_bytes);
        let mut files = cache.files.write().unwrap_or_else(PoisonError::into_inner);
        let (stamp, weight) = match &found {
            Found::File { stamp, content } if !content.unsteady => (*stamp, content.bytes.len()),
            Found::NotAFile { stamp, .. } => (*stamp, 0),
            _ => {
                files.remove(path.as_os_str());
                return found;
            }
        };
        let settled = stamp.is_settled(self.looked_at);
        let known = KnownFile { stamp, settled, max_bytes, bounds: self.bounds_id, found: found.clone() };
        files.insert(path.as_os_str().to_owned(), known, weight + path.as_os_str().len() + 256);
        found
    }

    /// Returns the cached content of a file and its state at that time. The lock is released before the caller
    /// calls `stat`: a file system that hangs must not block writers.
    fn known_file(&self, cache: &Cache, path: &Path, max_bytes: u64) -> Option<(Stamp, Found)> {
        let files = cache.files.read().unwrap_or_else(PoisonError::into_inner);
        let known = files.get(path.as_os_str())?;
        let is_known = known.settled && known.bounds == self.bounds_id && known.max_bytes >= max_bytes;
        is_known.then(|| (known.stamp, known.found.clone()))
    }

    /// Returns the knowledge about a directory, which is accessed once per resolution.
    fn directory(&mut self, directory: &Path) -> KnownDirectory {
        if self.cache.is_none() {
            return KnownDirectory::UNKNOWN;
        }
        match self.met(directory) {
            Some((_, known, _)) => *known,
            None => self.remember(directory, self.source.state(directory)),
        }
    }

    /// Compares the state of a directory with the cache.
    fn remember(&mut self, directory: &Path, state: Result<EntryState, Errno>) -> KnownDirectory {
        let Some(cache) = self.cache else { return KnownDirectory::UNKNOWN };
        let known = match state {
            Err(Errno::NOENT) => {
                self.evidence.nothing(directory);
                KnownDirectory::NOWHERE
            }
            Err(_) => {
                self.evidence = CacheEvidence::unknown();
                KnownDirectory::UNKNOWN
            }
            Ok(EntryState { stamp, .. }) => {
                self.evidence.state(directory, stamp, self.looked_at);
                let directories = cache.directories.read().unwrap_or_else(PoisonError::into_inner);
                let known = directories
                    .get(&self.names_id)
                    .and_then(|directories| directories.get(directory.as_os_str()))
                    .filter(|known| known.settled && known.stamp == Some(stamp));
                let settled = stamp.is_settled(self.looked_at);
                known.copied().unwrap_or(KnownDirectory {
                    stamp: Some(stamp),
                    settled,
                    absent: 0,
                    present: 0,
                })
            }
        };
        // Each directory is looked at once per resolution, so that all names in it are judged by the same state.
        self.seen.push((directory.to_owned(), known, Learned::Nothing));
        known
    }

    fn met(&mut self, directory: &Path) -> Option<&mut (PathBuf, KnownDirectory, Learned)> {
        self.seen.iter_mut().rev().find(|(path, ..)| path.as_os_str() == directory.as_os_str())
    }

    fn learn(&mut self, directory: &Path, learn: impl FnOnce(&mut KnownDirectory)) {
        if let Some((_, known, learned)) = self.met(directory) {
            learn(known);
            *learned = Learned::Something;
        }
    }
}

impl Drop for DirectoryReader<'_> {
    /// Stores new knowledge for later resolutions.
    fn drop(&mut self) {
        let Some(cache) = self.cache else { return };
        let mut learned = self
            .seen
            .drain(..)
            // Knowledge about a directory that changed just now is dropped: another change could keep its stamp.
            .filter(|(_, known, learned)| known.settled && *learned == Learned::Something)
            .peekable();
        if learned.peek().is_none() {
            return;
        }
        let mut directories = cache.directories.write().unwrap_or_else(PoisonError::into_inner);
        if directories.len() >= NAME_SETS && !directories.contains_key(&self.names_id) {
            // Sets of names are few and stable. Clearing all of them is simpler than tracking their use.
            directories.clear();
        }
        let directories = directories.entry(self.names_id).or_insert_with(|| Memory::new(DIRECTORIES));
        for (path, known, _) in learned {
            directories.insert(path.into_os_string(), known, 1);
        }
    }
}

/// Result of looking for a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Present,
    Absent,
    /// A symlink without a target.
    Dangling,
    /// Something that ends the search.
    Refused,
}

fn shifted(name: usize) -> u64 {
    1_u64.checked_shl(u32::try_from(name).unwrap_or(u32::MAX)).unwrap_or(0)
}
