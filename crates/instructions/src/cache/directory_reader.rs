//! One resolution's way through the file system, past what is known already.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use rustix::fs::Stat;
use rustix::io::Errno;

use super::answers::CacheEvidence;
use super::memory::Memory;
use super::{Cache, DIRECTORIES, NAME_SETS};
use crate::fs::contained_path::type_name;
use crate::fs::file::{self, Bounds, Found, Stamp};

/// Names that fit into a directory's memory; more are simply looked for every time.
const MAX_NAMES: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    stamp: Stamp,
    settled: bool,
    max_bytes: u64,
    bounds: u64,
    found: Found,
}

/// What is known about the names in a directory, one bit a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownDirectory {
    stamp: Option<Stamp>,
    settled: bool,
    absent: u64,
    /// Present; a marker only if it is no link.
    present: u64,
}

impl KnownDirectory {
    /// Nothing is known about it.
    const UNKNOWN: Self = Self { stamp: None, settled: false, absent: 0, present: 0 };
    /// It does not exist, so neither does anything in it.
    const NOWHERE: Self = Self { stamp: None, settled: true, absent: u64::MAX, present: 0 };
}

/// One resolution's way through the file system.
pub(crate) struct DirectoryReader<'a> {
    cache: Option<&'a Cache>,
    names: &'a [String],
    names_id: u64,
    bounds_id: u64,
    looked_at: SystemTime,
    /// Where paths are put together, so that names that are absent cost no allocation.
    path: PathBuf,
    /// Directories in the order they were met; what is asked for next is mostly the one met last.
    seen: Vec<(PathBuf, KnownDirectory, Learned)>,
    /// What the answer rests on.
    pub(crate) evidence: CacheEvidence,
}

/// Whether something is known about a directory that the cache does not know yet.
#[derive(PartialEq, Eq)]
enum Learned {
    Nothing,
    Something,
}

impl<'a> DirectoryReader<'a> {
    /// Names are told apart by their place in `names`.
    pub(crate) fn new(cache: Option<&'a Cache>, names: &'a [String]) -> Self {
        // More names than there are bits for are looked for as if there were no cache.
        let cache = cache.filter(|_| names.len() <= MAX_NAMES);
        let mut names_id = 0;
        if cache.is_some() {
            let mut hasher = DefaultHasher::new();
            names.hash(&mut hasher);
            names_id = hasher.finish();
        }
        let evidence = if cache.is_some() { CacheEvidence::default() } else { CacheEvidence::unknown() };
        let looked_at = SystemTime::now();
        let path = PathBuf::with_capacity(256);
        Self { cache, names, names_id, bounds_id: 0, looked_at, path, seen: Vec::new(), evidence }
    }

    /// Says that the answer rests on something that cannot be looked at again cheaply.
    pub(crate) fn cannot_be_remembered(&mut self) {
        self.evidence = CacheEvidence::unknown();
    }

    /// A name that is looked for.
    pub(crate) fn name(&self, index: usize) -> &'a str {
        &self.names[index]
    }

    /// How many names are looked for.
    pub(crate) fn names(&self) -> usize {
        self.names.len()
    }

    /// Says that candidates must stay inside a directory, and out of others, from now on.
    pub(crate) fn bound_by(&mut self, root: Option<&Path>, private_paths: &[PathBuf]) {
        if self.cache.is_some() {
            let mut hasher = DefaultHasher::new();
            (root, private_paths).hash(&mut hasher);
            self.bounds_id = hasher.finish();
        }
    }

    /// What kind of thing a path leads to.
    pub(crate) fn kind(&mut self, path: &Path) -> Result<&'static str, Errno> {
        let stat = rustix::fs::stat(path);
        if self.cache.is_some() {
            self.remember(path, stat);
        }
        stat.map(|stat| type_name(&stat))
    }

    /// Whether a marker is in a directory. A link counts when it leads somewhere.
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
        match rustix::fs::lstat(path) {
            Ok(stat) if type_name(&stat) == "link" => {
                // Where it leads to may change without its directory changing.
                self.evidence = CacheEvidence::unknown();
                match rustix::fs::stat(path) {
                    Ok(_) => Marker::Present,
                    Err(_) => Marker::Dangling,
                }
            }
            Ok(_) => {
                self.learn(directory, |known| known.present |= bit);
                Marker::Present
            }
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

    /// What a candidate is, read from memory where nothing can have changed.
    pub(crate) fn read(
        &mut self,
        directory: &Path,
        name: usize,
        bounds: &Bounds<'_>,
        max_bytes: u64,
    ) -> Found {
        let path = self.path_of(directory, name);
        let found = match self.cache {
            None => file::read(&path, bounds, max_bytes),
            Some(cache) => match self.bit(name) {
                0 => self.read_path(&path, bounds, max_bytes),
                bit => self.read_again(cache, directory, &path, bit, bounds, max_bytes),
            },
        };
        self.path = path;
        found
    }

    /// What a path is that no list of names has, read from memory where nothing can have changed.
    pub(crate) fn read_path(&mut self, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        let Some(cache) = self.cache else { return file::read(path, bounds, max_bytes) };
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

    /// A name's bit; none where it leads through another directory, whose changes its own does not show.
    fn bit(&self, name: usize) -> u64 {
        if self.names[name].contains('/') { 0 } else { shifted(name) }
    }

    /// The path of a name in a directory, to be given back to `self.path`.
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
        // Most names are absent. This one call tells that, and tells it from a link that leads nowhere.
        if known.present & bit == 0 {
            match rustix::fs::lstat(path) {
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
            // Also a link that leads nowhere: what it names may appear without its directory changing.
            _ => self.evidence = CacheEvidence::unknown(),
        }
        found
    }

    fn read_file(&self, cache: &Cache, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        if let Some((stamp, found)) = self.known_file(cache, path, max_bytes)
            && rustix::fs::stat(path).is_ok_and(|stat| Stamp::of(&stat) == stamp)
        {
            return found;
        }
        let found = file::read(path, bounds, max_bytes);
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

    /// What was read of a file, and the state it was in. Without the lock, under which nothing is looked at: a file
    /// system that hangs must not stop whoever wants to write.
    fn known_file(&self, cache: &Cache, path: &Path, max_bytes: u64) -> Option<(Stamp, Found)> {
        let files = cache.files.read().unwrap_or_else(PoisonError::into_inner);
        let known = files.get(path.as_os_str())?;
        let is_known = known.settled && known.bounds == self.bounds_id && known.max_bytes >= max_bytes;
        is_known.then(|| (known.stamp, known.found.clone()))
    }

    /// What is known about a directory; looks at it once.
    fn directory(&mut self, directory: &Path) -> KnownDirectory {
        if self.cache.is_none() {
            return KnownDirectory::UNKNOWN;
        }
        match self.met(directory) {
            Some((_, known, _)) => *known,
            None => self.remember(directory, rustix::fs::stat(directory)),
        }
    }

    /// Holds the state of a directory against what is known about it.
    fn remember(&mut self, directory: &Path, stat: Result<Stat, Errno>) -> KnownDirectory {
        let Some(cache) = self.cache else { return KnownDirectory::UNKNOWN };
        let known = match stat {
            Err(Errno::NOENT) => {
                self.evidence.nothing(directory);
                KnownDirectory::NOWHERE
            }
            Err(_) => {
                self.evidence = CacheEvidence::unknown();
                KnownDirectory::UNKNOWN
            }
            Ok(stat) => {
                let stamp = Stamp::of(&stat);
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
    /// Hands what was learned on to the next resolution.
    fn drop(&mut self) {
        let Some(cache) = self.cache else { return };
        let mut learned = self
            .seen
            .drain(..)
            .filter(|(_, known, learned)| known.settled && *learned == Learned::Something)
            .peekable();
        if learned.peek().is_none() {
            return;
        }
        let mut directories = cache.directories.write().unwrap_or_else(PoisonError::into_inner);
        if directories.len() >= NAME_SETS && !directories.contains_key(&self.names_id) {
            directories.clear();
        }
        let directories = directories.entry(self.names_id).or_insert_with(|| Memory::new(DIRECTORIES));
        for (path, known, _) in learned {
            directories.insert(path.into_os_string(), known, 1);
        }
    }
}

/// Whether a marker makes a directory the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Present,
    Absent,
    /// A link that leads nowhere.
    Dangling,
    /// Something that ends the search.
    Refused,
}

fn shifted(name: usize) -> u64 {
    1_u64.checked_shl(u32::try_from(name).unwrap_or(u32::MAX)).unwrap_or(0)
}
