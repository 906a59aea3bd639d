//! Sources of files: the disk, or a snapshot that takes the place of one directory on it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::fs::contained_path::{file_type, kind_name};
use crate::fs::file::{self, Bounds, Found, Stamp};
use crate::fs::snapshot::{Place, Snapshot};

/// Source of the files that a resolution reads.
#[derive(Debug, Clone, Default)]
pub enum FileSource {
    /// The files on disk.
    #[default]
    Disk,
    /// The files on disk, with these directories where nothing exists.
    DiskWith(Arc<HashSet<PathBuf>>),
    /// A snapshot of a directory, such as a commit. Paths outside the directory are those on disk.
    Snapshot(Arc<Snapshot>),
}

impl PartialEq for FileSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Disk, Self::Disk) => true,
            (Self::DiskWith(one), Self::DiskWith(other)) => Arc::ptr_eq(one, other),
            (Self::Snapshot(one), Self::Snapshot(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for FileSource {}

impl Hash for FileSource {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Self::Disk => 0.hash(hasher),
            Self::DiskWith(directories) => Arc::as_ptr(directories).hash(hasher),
            Self::Snapshot(snapshot) => Arc::as_ptr(snapshot).hash(hasher),
        }
    }
}

/// Identity and type of an entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryState {
    /// State of the entry. The size of a file in a snapshot is unknown.
    pub(crate) stamp: Stamp,
    kind: FileType,
}

impl EntryState {
    pub(crate) fn new(stamp: Stamp, kind: FileType) -> Self {
        Self { stamp, kind }
    }

    fn of(stat: &rustix::fs::Stat) -> Self {
        Self { stamp: Stamp::of(stat), kind: file_type(stat) }
    }

    /// Returns true for a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    /// Returns true for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Returns true for a link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Returns the word for its type.
    pub fn kind_name(&self) -> &'static str {
        kind_name(self.kind)
    }
}

/// An entry of a directory.
#[derive(Debug)]
pub struct SourceEntry {
    /// Path of the entry.
    pub path: PathBuf,
    /// Name of the entry.
    pub name: OsString,
    /// Type of the entry itself, without following links.
    kind: FileType,
}

impl SourceEntry {
    /// Returns true for a link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Returns true for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }
}

impl FileSource {
    /// Returns the snapshot, or `None` for the disk.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Disk | Self::DiskWith(_) => None,
            Self::Snapshot(snapshot) => Some(snapshot),
        }
    }

    /// Returns the state of an entry, following links.
    pub fn state(&self, path: &Path) -> Result<EntryState, Errno> {
        match self.place(path)? {
            Place::OnDisk(path) => self.on_disk_or_added(&path, rustix::fs::stat(path.as_ref())),
            Place::Node(node) => Ok(node.state()),
        }
    }

    /// Returns the state of an entry without following a link at its end.
    pub fn own_state(&self, path: &Path) -> Result<EntryState, Errno> {
        match self.own_place(path)? {
            Place::OnDisk(path) => self.on_disk_or_added(&path, rustix::fs::lstat(path.as_ref())),
            Place::Node(node) => Ok(node.state()),
        }
    }

    fn on_disk_or_added(
        &self,
        path: &Path,
        found: Result<rustix::fs::Stat, Errno>,
    ) -> Result<EntryState, Errno> {
        match (found, self) {
            (Err(Errno::NOENT), Self::DiskWith(directories)) if directories.contains(path) => {
                let stamp = Stamp { device: 0, inode: 0, size: 0, modified: 0, changed: 0 };
                Ok(EntryState::new(stamp, FileType::Directory))
            }
            (found, _) => found.map(|stat| EntryState::of(&stat)),
        }
    }

    /// Returns true if a path leads to something.
    pub fn exists(&self, path: &Path) -> bool {
        self.state(path).is_ok()
    }

    /// Returns true if a directory has an entry, which may be a link without a target.
    pub fn has_entry(&self, path: &Path) -> bool {
        self.own_state(path).is_ok()
    }

    /// Returns true if a path leads to a regular file.
    pub fn is_file(&self, path: &Path) -> bool {
        self.state(path).is_ok_and(|state| state.is_file())
    }

    /// Returns true if a path leads to a directory.
    pub fn is_directory(&self, path: &Path) -> bool {
        self.state(path).is_ok_and(|state| state.is_directory())
    }

    /// Returns the size of a regular file, or `None` if there is none.
    pub fn file_size(&self, path: &Path) -> Option<u64> {
        match self.place(path).ok()? {
            Place::OnDisk(path) => {
                let state = rustix::fs::stat(path.as_ref()).map(|stat| EntryState::of(&stat)).ok()?;
                state.is_file().then_some(state.stamp.size)
            }
            Place::Node(node) => node.size(),
        }
    }

    /// Returns the target of a link.
    pub fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.own_place(path)? {
            Place::OnDisk(path) => std::fs::read_link(path),
            Place::Node(node) => node.link_target(),
        }
    }

    /// Returns the path without links.
    pub fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        match self.place(path)? {
            Place::OnDisk(path) => path.canonicalize(),
            Place::Node(node) => Ok(node.path()),
        }
    }

    /// Returns the entries of a directory: in the order of the file system, or by name in a snapshot.
    pub fn entries(&self, path: &Path) -> io::Result<Vec<SourceEntry>> {
        match self.place(path)? {
            Place::OnDisk(found) => {
                let kept = |entry: std::fs::DirEntry| {
                    let name = entry.file_name();
                    let kind = FileType::from_raw_mode(0);
                    let kind = entry.file_type().map_or(kind, |found| match found {
                        found if found.is_symlink() => FileType::Symlink,
                        found if found.is_dir() => FileType::Directory,
                        found if found.is_file() => FileType::RegularFile,
                        _ => kind,
                    });
                    SourceEntry { path: path.join(&name), name, kind }
                };
                Ok(std::fs::read_dir(found)?.flatten().map(kept).collect())
            }
            Place::Node(node) => {
                let entries = node.children().ok_or(Errno::NOTDIR)?;
                Ok(entries.map(|(name, kind)| SourceEntry { path: path.join(&name), name, kind }).collect())
            }
        }
    }

    /// Opens a file within bounds and reads at most `max_bytes` of it.
    pub fn read(&self, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        match self {
            Self::Disk | Self::DiskWith(_) => file::read(path, bounds, max_bytes),
            Self::Snapshot(snapshot) => snapshot.read(path, bounds, max_bytes),
        }
    }

    /// Opens any file and reads at most `max_bytes` of it.
    pub fn read_anywhere(&self, path: &Path, max_bytes: u64) -> Found {
        self.read(path, &Bounds::default(), max_bytes)
    }

    /// Returns the path on disk for a path that a snapshot does not replace.
    pub(crate) fn on_disk<'a>(&'a self, path: &'a Path) -> Option<Cow<'a, Path>> {
        match self.own_place(path) {
            Ok(Place::OnDisk(path)) => Some(path),
            _ => None,
        }
    }

    fn place<'a>(&'a self, path: &'a Path) -> Result<Place<'a>, Errno> {
        match self {
            Self::Disk | Self::DiskWith(_) => Ok(Place::OnDisk(path.into())),
            Self::Snapshot(snapshot) => snapshot.place(path),
        }
    }

    fn own_place<'a>(&'a self, path: &'a Path) -> Result<Place<'a>, Errno> {
        match self {
            Self::Disk | Self::DiskWith(_) => Ok(Place::OnDisk(path.into())),
            Self::Snapshot(snapshot) => snapshot.own_place(path),
        }
    }
}
