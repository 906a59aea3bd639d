//! What earlier resolutions learned, so that a warm one needs one stat a directory and one a known file.
//!
//! A directory that has not changed has the same names in it, so names that were absent still are. A file that
//! has not changed has the same content. "Not changed" is believed only of what had been at rest for two seconds
//! when it was looked at: a clock tick is long enough for a second change that leaves the same time behind.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;

use rustix::io::Errno;

use crate::file::{self, Bounds, Found, Stamp};

/// Names that fit into a directory's memory; more are simply looked for every time.
const MOST_NAMES: usize = 64;

/// Shared by any number of resolutions and threads.
#[derive(Debug, Default)]
pub struct Cache {
    files: RwLock<HashMap<PathBuf, KnownFile>>,
    directories: RwLock<HashMap<u64, HashMap<PathBuf, KnownDirectory>>>,
}

impl Cache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }
}

#[derive(Debug, Clone)]
struct KnownFile {
    stamp: Stamp,
    settled: bool,
    most: u64,
    bounds: u64,
    found: Found,
}

/// What is known about the names in a directory, one bit a name.
#[derive(Debug, Clone, Copy)]
struct KnownDirectory {
    stamp: Option<Stamp>,
    settled: bool,
    absent: u64,
    /// Present and no link, which is all that is asked about markers.
    present: u64,
}

/// One resolution's way through the file system.
pub(crate) struct Look<'a> {
    cache: Option<&'a Cache>,
    names: &'a [String],
    names_id: u64,
    bounds_id: u64,
    seen: HashMap<PathBuf, (KnownDirectory, Learned)>,
}

/// Whether something is known about a directory that the cache does not know yet.
#[derive(PartialEq, Eq)]
enum Learned {
    Nothing,
    Something,
}

impl<'a> Look<'a> {
    /// Names are told apart by their place in `names`.
    pub(crate) fn new(cache: Option<&'a Cache>, names: &'a [String]) -> Self {
        let mut hasher = DefaultHasher::new();
        names.hash(&mut hasher);
        Self { cache, names, names_id: hasher.finish(), bounds_id: 0, seen: HashMap::new() }
    }

    /// How many names are looked for.
    pub(crate) fn names(&self) -> usize {
        self.names.len()
    }

    /// Says that candidates must stay inside a directory from now on.
    pub(crate) fn bound_by(&mut self, root: Option<&Path>) {
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        self.bounds_id = hasher.finish();
    }

    /// Whether a marker is in a directory. A link counts when it leads somewhere.
    pub(crate) fn has_marker(&mut self, directory: &Path, name: usize) -> Marker {
        let bit = bit(name);
        let known = self.directory(directory);
        if known.settled && known.absent & bit != 0 {
            return Marker::Absent;
        }
        if known.settled && known.present & bit != 0 {
            return Marker::Present;
        }
        let path = directory.join(&self.names[name]);
        match rustix::fs::lstat(&path) {
            Ok(stat) if file::kind(&stat) == "link" => match rustix::fs::stat(&path) {
                Ok(_) => Marker::Present,
                Err(_) => Marker::Dangling,
            },
            Ok(_) => {
                self.learn(directory, |known| known.present |= bit);
                Marker::Present
            }
            Err(errno) => {
                if errno == Errno::NOENT {
                    self.learn(directory, |known| known.absent |= bit);
                }
                Marker::Absent
            }
        }
    }

    /// What a candidate is, read from memory where nothing can have changed.
    pub(crate) fn read(&mut self, directory: &Path, name: usize, bounds: &Bounds, most: u64) -> Found {
        let bit = bit(name);
        if self.cache.is_some() {
            let known = self.directory(directory);
            if known.settled && known.absent & bit != 0 {
                return Found::Absent;
            }
        }
        let path = directory.join(&self.names[name]);
        let found = self.read_file(&path, bounds, most);
        // A link that leads nowhere is there all the same: what it names may appear without its directory changing.
        if self.cache.is_some()
            && matches!(found, Found::Absent)
            && rustix::fs::lstat(&path).is_err_and(|errno| errno == Errno::NOENT)
        {
            self.learn(directory, |known| known.absent |= bit);
        }
        found
    }

    /// What a file is, wherever it stands.
    pub(crate) fn read_file(&self, path: &Path, bounds: &Bounds, most: u64) -> Found {
        let Some(cache) = self.cache else {
            return file::read(path, bounds, most);
        };
        if let Some(known) = cache.files.read().unwrap_or_else(PoisonError::into_inner).get(path)
            && known.settled
            && known.bounds == self.bounds_id
            && known.most >= most
            && rustix::fs::stat(path).is_ok_and(|stat| Stamp::of(&stat) == known.stamp)
        {
            return known.found.clone();
        }
        let looked_at = SystemTime::now();
        let found = file::read(path, bounds, most);
        let mut files = cache.files.write().unwrap_or_else(PoisonError::into_inner);
        match &found {
            Found::File { stamp, content } if !content.unsteady => {
                let settled = stamp.is_settled(looked_at);
                let known =
                    KnownFile { stamp: *stamp, settled, most, bounds: self.bounds_id, found: found.clone() };
                files.insert(path.to_owned(), known);
            }
            Found::NotAFile { stamp, .. } => {
                let settled = stamp.is_settled(looked_at);
                let known =
                    KnownFile { stamp: *stamp, settled, most, bounds: self.bounds_id, found: found.clone() };
                files.insert(path.to_owned(), known);
            }
            _ => drop(files.remove(path)),
        }
        found
    }

    /// What is known about a directory; looks at it once.
    fn directory(&mut self, directory: &Path) -> KnownDirectory {
        let nothing = KnownDirectory { stamp: None, settled: false, absent: 0, present: 0 };
        let Some(cache) = self.cache.filter(|_| self.names.len() <= MOST_NAMES) else { return nothing };
        if let Some((known, _)) = self.seen.get(directory) {
            return *known;
        }
        let looked_at = SystemTime::now();
        let stamp = rustix::fs::stat(directory).ok().map(|stat| Stamp::of(&stat));
        let known = cache
            .directories
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&self.names_id)
            .and_then(|directories| directories.get(directory))
            .filter(|known| known.settled && stamp.is_some() && known.stamp == stamp)
            .copied();
        let known = known.unwrap_or(KnownDirectory {
            stamp,
            settled: stamp.is_some_and(|stamp| stamp.is_settled(looked_at)),
            absent: 0,
            present: 0,
        });
        self.seen.insert(directory.to_owned(), (known, Learned::Nothing));
        known
    }

    fn learn(&mut self, directory: &Path, learn: impl FnOnce(&mut KnownDirectory)) {
        if let Some((known, learned)) = self.seen.get_mut(directory) {
            learn(known);
            *learned = Learned::Something;
        }
    }
}

impl Drop for Look<'_> {
    /// Hands what was learned on to the next resolution.
    fn drop(&mut self) {
        let Some(cache) = self.cache else { return };
        let mut learned = self
            .seen
            .drain()
            .filter(|(_, (known, learned))| known.settled && *learned == Learned::Something)
            .peekable();
        if learned.peek().is_none() {
            return;
        }
        let mut directories = cache.directories.write().unwrap_or_else(PoisonError::into_inner);
        let directories = directories.entry(self.names_id).or_default();
        directories.extend(learned.map(|(path, (known, _))| (path, known)));
    }
}

/// Whether a marker makes a directory the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Present,
    Absent,
    /// A link that leads nowhere.
    Dangling,
}

fn bit(name: usize) -> u64 {
    1_u64.checked_shl(u32::try_from(name).unwrap_or(u32::MAX)).unwrap_or(0)
}
