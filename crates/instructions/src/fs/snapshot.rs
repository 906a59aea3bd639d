//! A tree of files in memory that takes the place of a directory, such as the files of a commit in its work tree.
//!
//! Paths and links are followed as they would be on disk: links inside the tree, links that leave it, and links in a
//! circle. Contents are loaded on demand.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::cache::memory::Memory;
use crate::fs::contained_path::MAX_LINKS;
use crate::fs::file::{self, Bounds, Content, Found, Stamp};
use crate::fs::source::EntryState;

/// Bytes of contents that are kept per generation.
const KEPT_BYTES: usize = 32 * 1024 * 1024;
/// Longest target of a link.
const MAX_TARGET_BYTES: u64 = 4_096;
/// Number that stands for the device of all entries of snapshots.
const DEVICE: u64 = u64::MAX;
const DOT_GIT: &[u8] = b".git";

/// Name of an object in a repository.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectId {
    digits: [u8; 64],
    length: u8,
}

impl ObjectId {
    /// Returns the name with these hexadecimal digits, or `None` if there are not 40 or 64 of them.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let mut digits = [0; 64];
        let is_name = matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
        digits.get_mut(..text.len()).filter(|_| is_name)?.copy_from_slice(text);
        Some(Self { digits, length: u8::try_from(text.len()).ok()? })
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        let digits = self.digits.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

impl Debug for ObjectId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Beginning of an object's content.
#[derive(Debug)]
pub struct Blob {
    /// Size of the whole content.
    pub size: u64,
    /// First bytes of the content.
    pub bytes: Vec<u8>,
}

/// Contents of objects by name.
pub trait Blobs: Debug + Send + Sync {
    /// Reads at most `max_bytes` of an object.
    fn read(&self, id: &ObjectId, max_bytes: u64) -> io::Result<Blob>;
}

/// Type of an entry of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotEntry {
    /// A regular file.
    File(ObjectId),
    /// A link, whose target is the content.
    Link(ObjectId),
    /// A directory, which may be empty.
    Directory,
}

impl SnapshotEntry {
    fn kind(self) -> FileType {
        match self {
            Self::File(_) => FileType::RegularFile,
            Self::Link(_) => FileType::Symlink,
            Self::Directory => FileType::Directory,
        }
    }
}

/// A tree of files that takes the place of a directory.
#[derive(Debug)]
pub struct Snapshot {
    top: PathBuf,
    /// Directory on disk that stands for `.git` in the top.
    repository: PathBuf,
    blobs: Box<dyn Blobs>,
    nodes: Vec<SnapshotNode>,
    /// Index of each node, keyed by its path below the top.
    places: HashMap<Box<[u8]>, usize>,
    contents: Mutex<Memory<ObjectId, KnownContent>>,
}

#[derive(Debug)]
struct SnapshotNode {
    path: Box<[u8]>,
    entry: SnapshotEntry,
    children: Vec<usize>,
}

#[derive(Debug, Clone)]
struct KnownContent {
    size: u64,
    max_bytes: u64,
    content: Arc<Content>,
}

/// Location that a path leads to.
pub(crate) enum Place<'a> {
    /// Outside the snapshot.
    OnDisk(std::borrow::Cow<'a, Path>),
    /// An entry of the snapshot.
    Node(Node<'a>),
}

/// An entry of a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    snapshot: &'a Snapshot,
    index: usize,
}

impl Snapshot {
    /// Creates an empty snapshot of the directory `top`, whose `.git` is `repository`.
    pub fn new(top: PathBuf, repository: PathBuf, blobs: Box<dyn Blobs>) -> Self {
        let root = SnapshotNode { path: [].into(), entry: SnapshotEntry::Directory, children: Vec::new() };
        Self {
            top,
            repository,
            blobs,
            nodes: vec![root],
            places: HashMap::from([([].into(), 0)]),
            contents: Mutex::new(Memory::new(KEPT_BYTES)),
        }
    }

    /// Returns the directory whose place the snapshot takes.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Adds an entry with the directories above it. A path that no checkout would create is left out.
    pub fn insert(&mut self, path: &[u8], entry: SnapshotEntry) {
        let is_name =
            |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(DOT_GIT);
        if path.split(|byte| *byte == b'/').all(is_name) && !path.contains(&0) {
            self.add(path, entry);
        }
    }

    fn add(&mut self, path: &[u8], entry: SnapshotEntry) -> Option<usize> {
        if let Some(known) = self.places.get(path) {
            let is_directory = |entry: SnapshotEntry| entry == SnapshotEntry::Directory;
            return (is_directory(entry) && is_directory(self.nodes[*known].entry)).then_some(*known);
        }
        let above = match path.iter().rposition(|byte| *byte == b'/') {
            Some(end) => self.add(&path[..end], SnapshotEntry::Directory)?,
            None => 0,
        };
        let index = self.nodes.len();
        self.nodes.push(SnapshotNode { path: path.into(), entry, children: Vec::new() });
        self.nodes[above].children.push(index);
        if let Entry::Vacant(place) = self.places.entry(path.into()) {
            place.insert(index);
        }
        Some(index)
    }

    /// Adds empty directories. A directory in place of a file, or outside the top, is left out.
    pub fn add_directories(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if let Ok(below) = path.strip_prefix(&self.top) {
                self.insert(below.as_os_str().as_bytes(), SnapshotEntry::Directory);
            }
        }
    }

    /// Returns the paths of all entries, directories before their content.
    pub fn entries(&self) -> impl Iterator<Item = (PathBuf, SnapshotEntry)> {
        (0..self.nodes.len()).map(|index| (Node { snapshot: self, index }.path(), self.nodes[index].entry))
    }

    /// Returns the entry at a path below the top, without following links.
    pub fn entry(&self, below: &Path) -> Option<SnapshotEntry> {
        self.places.get(below.as_os_str().as_bytes()).map(|index| self.nodes[*index].entry)
    }

    /// Returns the location that a path leads to.
    pub(crate) fn place<'a>(&'a self, path: &'a Path) -> Result<Place<'a>, Errno> {
        self.follow(path, true)
    }

    /// Returns the location of a path without following a link at its end.
    pub(crate) fn own_place<'a>(&'a self, path: &'a Path) -> Result<Place<'a>, Errno> {
        self.follow(path, false)
    }

    fn follow<'a>(&'a self, path: &'a Path, follows_last: bool) -> Result<Place<'a>, Errno> {
        let Ok(below) = path.strip_prefix(&self.top) else { return Ok(Place::OnDisk(path.into())) };
        let bytes = below.as_os_str().as_bytes();
        // Paths of nodes contain no links, so most lookups end here.
        if let Some(index) = self.places.get(bytes) {
            if !follows_last || !matches!(self.nodes[*index].entry, SnapshotEntry::Link(_)) {
                return Ok(Place::Node(Node { snapshot: self, index: *index }));
            }
        } else if let Some(end) = bytes.iter().rposition(|byte| *byte == b'/')
            && let Some(above) = self.places.get(&bytes[..end])
            && self.nodes[*above].entry == SnapshotEntry::Directory
            && !bytes[end..].starts_with(b"/..")
        {
            return Err(Errno::NOENT);
        }
        self.walk(below, follows_last)
    }

    /// Follows a path component by component.
    fn walk(&self, below: &Path, follows_last: bool) -> Result<Place<'_>, Errno> {
        let mut waiting: VecDeque<OsString> = names(below);
        let mut here = 0;
        let mut links = 0;
        while let Some(name) = waiting.pop_front() {
            let node = &self.nodes[here];
            if node.entry != SnapshotEntry::Directory {
                return Err(Errno::NOTDIR);
            }
            if name == ".." {
                match node.path.iter().rposition(|byte| *byte == b'/') {
                    Some(end) => here = self.places.get(&node.path[..end]).copied().unwrap_or(0),
                    None if here != 0 => here = 0,
                    None => return Ok(self.outside(self.top.parent().unwrap_or(&self.top), waiting)),
                }
                continue;
            }
            if here == 0 && name.as_bytes() == DOT_GIT {
                return Ok(Place::OnDisk(joined(&self.repository, waiting).into()));
            }
            let mut path = node.path.to_vec();
            if here != 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let index = *self.places.get(path.as_slice()).ok_or(Errno::NOENT)?;
            let SnapshotEntry::Link(id) = self.nodes[index].entry else {
                here = index;
                continue;
            };
            if waiting.is_empty() && !follows_last {
                return Ok(Place::Node(Node { snapshot: self, index }));
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let target = self.target(&id).map_err(|_| Errno::NOENT)?;
            if target.is_absolute() {
                let Ok(inside) = target.strip_prefix(&self.top) else {
                    return Ok(Place::OnDisk(joined(&target, waiting).into()));
                };
                here = 0;
                prepend(&mut waiting, inside);
            } else {
                prepend(&mut waiting, &target);
            }
        }
        Ok(Place::Node(Node { snapshot: self, index: here }))
    }

    /// Returns the location of a path that left the snapshot, which it may enter again.
    fn outside(&self, directory: &Path, waiting: VecDeque<OsString>) -> Place<'_> {
        let path = crate::fs::path::normalise(&joined(directory, waiting), Path::new("/"));
        match path.strip_prefix(&self.top) {
            // A path without links needs no walk, and one with links is not followed a second time.
            Ok(below) => match self.places.get(below.as_os_str().as_bytes()) {
                Some(index) => Place::Node(Node { snapshot: self, index: *index }),
                None => Place::OnDisk(path.join("nothing").into()),
            },
            Err(_) => Place::OnDisk(path.into()),
        }
    }

    fn target(&self, id: &ObjectId) -> io::Result<PathBuf> {
        let (_, content) = self.content(id, MAX_TARGET_BYTES)?;
        // The system refuses to create such links.
        if !content.whole || content.bytes.is_empty() || content.bytes.contains(&0) {
            return Err(Errno::NOENT.into());
        }
        Ok(OsString::from_vec(content.bytes.clone()).into())
    }

    /// Returns the size of an object and at most `max_bytes` of it.
    fn content(&self, id: &ObjectId, max_bytes: u64) -> io::Result<(u64, Arc<Content>)> {
        if let Some(known) = self.contents.lock().get(id) {
            let is_enough = known.max_bytes == max_bytes || known.content.whole && known.size <= max_bytes;
            if is_enough {
                return Ok((known.size, Arc::clone(&known.content)));
            }
        }
        let Blob { size, mut bytes } = self.blobs.read(id, max_bytes)?;
        bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        let content = Arc::new(Content::new(bytes, size <= max_bytes));
        let weight = content.bytes.len() + 256;
        let known = KnownContent { size, max_bytes, content: Arc::clone(&content) };
        self.contents.lock().insert(*id, known, weight);
        Ok((size, content))
    }

    /// Reads a candidate.
    pub(crate) fn read(&self, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
        let unreadable = |error: io::Error| Found::Unreadable { reason: error.to_string().into() };
        let node = match self.place(path) {
            Ok(Place::OnDisk(found)) => {
                // A link led out of the snapshot, so it leads out of every directory in it.
                let is_bound_inside = bounds.root().is_some_and(|root| root.starts_with(&self.top));
                if is_bound_inside && found.as_ref() != path {
                    return if file::read_anywhere(&found, 0).is_absent() {
                        Found::Absent
                    } else {
                        Found::Outside
                    };
                }
                return file::read(&found, bounds, max_bytes);
            }
            Ok(Place::Node(node)) => node,
            Err(Errno::NOENT | Errno::NOTDIR) => return Found::Absent,
            Err(errno) => return unreadable(errno.into()),
        };
        let real = node.path();
        let is_inside = |root: &Path| match self.place(root) {
            Ok(Place::Node(root)) => real.starts_with(root.path()),
            _ => real.starts_with(root),
        };
        if bounds.root().is_some_and(|root| !path.starts_with(root) || !is_inside(root)) {
            return Found::Outside;
        }
        let SnapshotEntry::File(id) = node.entry() else {
            return Found::NotAFile { stamp: node.state().stamp, kind: node.state().kind_name() };
        };
        if bounds.private_paths().iter().any(|private| real.starts_with(private)) {
            return Found::Private;
        }
        match self.content(&id, max_bytes) {
            Ok((size, content)) => Found::File { stamp: Stamp { size, ..node.state().stamp }, content },
            Err(error) => unreadable(error),
        }
    }
}

impl<'a> Node<'a> {
    fn entry(self) -> SnapshotEntry {
        self.snapshot.nodes[self.index].entry
    }

    pub(crate) fn path(self) -> PathBuf {
        let below = &self.snapshot.nodes[self.index].path;
        match below.is_empty() {
            true => self.snapshot.top.clone(),
            false => self.snapshot.top.join(OsStr::from_bytes(below)),
        }
    }

    pub(crate) fn state(self) -> EntryState {
        // The file's place identifies it, because a tree has no hard links.
        let stamp = Stamp { device: DEVICE, inode: self.index as u64, size: 0, modified: 0, changed: 0 };
        EntryState::new(stamp, self.entry().kind())
    }

    pub(crate) fn size(self) -> Option<u64> {
        let SnapshotEntry::File(id) = self.entry() else { return None };
        let known = self.snapshot.contents.lock().get(&id).map(|known| known.size);
        known.or_else(|| self.snapshot.blobs.read(&id, 0).ok().map(|blob| blob.size))
    }

    pub(crate) fn link_target(self) -> io::Result<PathBuf> {
        let SnapshotEntry::Link(id) = self.entry() else { return Err(Errno::INVAL.into()) };
        self.snapshot.target(&id)
    }

    /// Returns names and types of the entries of a directory, or `None` for anything else.
    pub(crate) fn children(self) -> Option<impl Iterator<Item = (OsString, FileType)> + use<'a>> {
        let node = &self.snapshot.nodes[self.index];
        (node.entry == SnapshotEntry::Directory).then(|| {
            node.children.iter().map(|index| {
                let child = &self.snapshot.nodes[*index];
                let start = child.path.iter().rposition(|byte| *byte == b'/').map_or(0, |end| end + 1);
                (OsStr::from_bytes(&child.path[start..]).to_owned(), child.entry.kind())
            })
        })
    }
}

/// Returns the names of a path below a directory.
fn names(below: &Path) -> VecDeque<OsString> {
    let mut waiting = VecDeque::new();
    prepend(&mut waiting, below);
    waiting
}

fn prepend(waiting: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => waiting.push_front(name.to_owned()),
            Component::ParentDir => waiting.push_front("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

fn joined(directory: &Path, names: VecDeque<OsString>) -> PathBuf {
    let mut path = directory.to_owned();
    path.extend(names);
    path
}
