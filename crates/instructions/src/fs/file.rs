//! Opens and reads one candidate. What is judged is what was opened: never a path that is looked at first and
//! opened later.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustix::fs::{Mode, SeekFrom, Stat};
use rustix::io::Errno;

use crate::fs::contained_path::{self, type_name};
use crate::fs::excluded_paths::Private;
use crate::profile::{FrontMatterRule, Profile};
use crate::text::content_hash::ContentHash;
use crate::text::markup::Markup;

/// Read past a limit, so that what a cut leaves out can be named.
pub(crate) const BLOCK: u64 = 65_536;
/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;

/// What tells one state of a file or directory from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i128,
    /// Nanoseconds since 1970; moves when permissions do.
    pub(crate) changed: i128,
}

impl Stamp {
    /// Of something that was looked at.
    pub fn of(stat: &Stat) -> Self {
        let nanoseconds = |seconds: i128, nanoseconds: i128| seconds * 1_000_000_000 + nanoseconds;
        Self {
            device: widen(stat.st_dev),
            inode: widen(stat.st_ino),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
            changed: nanoseconds(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec)),
        }
    }

    /// Modification time in milliseconds.
    pub(crate) fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified.div_euclid(1_000_000)).unwrap_or(0)
    }

    /// Whether it was long enough at rest when it was looked at that a later change must have moved it.
    pub fn is_settled(&self, looked_at: SystemTime) -> bool {
        const REST: i128 = 2_000_000_000;
        let looked_at =
            looked_at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        self.modified.max(self.changed) + REST <= looked_at
    }
}

/// Device and inode numbers have other widths on other systems.
fn widen<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// What was read of a file.
#[derive(Debug)]
pub struct Content {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// SHA-256 of those bytes.
    pub sha256: ContentHash,
    /// Whether the bytes are the whole file.
    pub whole: bool,
    /// Whether the file kept changing while it was read.
    pub unsteady: bool,
    /// What its Markdown says, once somebody asked.
    markup: OnceLock<Markup>,
}

impl Content {
    /// What the Markdown says besides its text, by rules that look at that.
    pub(crate) fn markup(&self, profile: &Profile) -> &Markup {
        // What other agents find is looked for where it is needed: this place has room for ours alone.
        match profile.front_matter {
            FrontMatterRule::Text | FrontMatterRule::Stripped => const { &Markup::NONE },
            FrontMatterRule::Conditions => self.markup.get_or_init(|| Markup::find(&self.bytes, self.whole)),
        }
    }

    /// The bytes of its text.
    pub(crate) fn text(&self, profile: &Profile) -> &[u8] {
        &self.bytes[self.markup(profile).start..]
    }
}

/// What a candidate turned out to be.
#[derive(Debug, Clone)]
pub enum Found {
    /// A regular file.
    File {
        /// Which state of it.
        stamp: Stamp,
        /// What it says.
        content: Arc<Content>,
    },
    /// There is nothing.
    Absent,
    /// A directory, a pipe, a device, a socket.
    NotAFile {
        /// Which state of it.
        stamp: Stamp,
        /// The word for what it is.
        kind: &'static str,
    },
    /// A link that leads out of the project.
    Outside,
    /// A file that is kept from every project.
    Private,
    /// The system refused.
    Unreadable {
        /// In the system's words.
        reason: Arc<str>,
    },
}

/// Where candidates may lead.
#[derive(Debug, Default)]
pub struct Bounds<'a> {
    /// Inside this directory; anywhere where there is none.
    root: Option<Inside>,
    /// Not there, wherever that is.
    private_paths: &'a [PathBuf],
    /// The same, once the first candidate was opened.
    private: OnceCell<Private>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn inside(directory: &Path) -> Self {
        Self { root: Some(Inside::new(directory)), ..Self::default() }
    }

    /// Keeps some places from whoever reads.
    pub fn without(mut self, private_paths: &'a [PathBuf]) -> Self {
        self.private_paths = private_paths;
        self
    }

    /// The directory that candidates must stay below.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_ref().map(|root| root.path.as_path())
    }

    fn keep_private(&self, opened: &OwnedFd, path: &Path, stamp: Stamp) -> bool {
        let find = || Private::find(self.private_paths);
        !self.private_paths.is_empty()
            && self.private.get_or_init(find).holds(opened, path, (stamp.device, stamp.inode))
    }
}

/// A directory that candidates must stay below, opened when the first of them is.
#[derive(Debug)]
pub(crate) struct Inside {
    path: PathBuf,
    descriptor: OnceCell<OwnedFd>,
}

impl Inside {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), descriptor: OnceCell::new() }
    }

    /// The way from the root to a path below it. Where both are written alike, which is nearly always, their bytes
    /// tell; else their components do.
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let below = path.as_os_str().as_bytes().strip_prefix(self.path.as_os_str().as_bytes());
        // Itself.
        if below.is_some_and(<[u8]>::is_empty) {
            return Some(Path::new("."));
        }
        match below.and_then(|rest| rest.strip_prefix(b"/")) {
            Some([b'/', ..]) | None => path.strip_prefix(&self.path).ok(),
            Some(rest) => Some(Path::new(OsStr::from_bytes(rest))),
        }
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>, Errno> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let descriptor = rustix::fs::open(&self.path, contained_path::directory_flags(), Mode::empty())?;
        Ok(self.descriptor.get_or_init(|| descriptor).as_fd())
    }
}

/// Opens and reads a candidate, at most `max_bytes` bytes of it.
pub(crate) fn read(path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
    let opened = match &bounds.root {
        None => rustix::fs::open(path, contained_path::read_flags(), Mode::empty()),
        Some(root) => match root.relative(path) {
            Some(relative) => root.descriptor().and_then(|fd| contained_path::open(fd, &root.path, relative)),
            None => return Found::Outside,
        },
    };
    match opened {
        Ok(descriptor) => judge(descriptor, path, bounds, max_bytes),
        Err(errno) => refused(errno, path),
    }
}

/// Opens and reads a file wherever it leads, at most `max_bytes` bytes of it. Nothing is waited for.
pub fn read_anywhere(path: &Path, max_bytes: u64) -> Found {
    read(path, &Bounds::default(), max_bytes)
}

/// The bytes of a regular file that has no more than `max_bytes` of them.
pub fn read_whole(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    match read_anywhere(path, max_bytes) {
        Found::File { content, .. } if content.whole => Arc::into_inner(content).map(|content| content.bytes),
        _ => None,
    }
}

/// Opens and reads a file below a directory that is open already, at most `max_bytes` bytes of it. Of `bounds` only what is
/// kept private counts: the directory is the root.
pub fn read_beneath(
    directory: BorrowedFd<'_>,
    directory_path: &Path,
    relative: &Path,
    bounds: &Bounds<'_>,
    max_bytes: u64,
) -> Found {
    let path = directory_path.join(relative);
    match contained_path::open(directory, directory_path, relative) {
        Ok(descriptor) => judge(descriptor, &path, bounds, max_bytes),
        Err(errno) => refused(errno, &path),
    }
}

fn refused(errno: Errno, path: &Path) -> Found {
    match errno {
        // Below a file there is nothing.
        Errno::NOENT | Errno::NOTDIR => Found::Absent,
        Errno::XDEV => Found::Outside,
        // A socket cannot be opened, nor a device without a driver: neither is an instruction file.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => match rustix::fs::stat(path) {
            Ok(stat) => Found::NotAFile { stamp: Stamp::of(&stat), kind: type_name(&stat) },
            Err(_) => Found::Absent,
        },
        errno => Found::Unreadable { reason: io::Error::from(errno).to_string().into() },
    }
}

fn judge(descriptor: OwnedFd, path: &Path, bounds: &Bounds<'_>, max_bytes: u64) -> Found {
    let unreadable = |error: io::Error| Found::Unreadable { reason: error.to_string().into() };
    let stat = match rustix::fs::fstat(&descriptor) {
        Ok(stat) => stat,
        Err(errno) => return unreadable(errno.into()),
    };
    if type_name(&stat) != "file" {
        return Found::NotAFile { stamp: Stamp::of(&stat), kind: type_name(&stat) };
    }
    if bounds.keep_private(&descriptor, path, Stamp::of(&stat)) {
        return Found::Private;
    }
    match read_steadily(&descriptor, Stamp::of(&stat), max_bytes) {
        Ok((stamp, content)) => Found::File { stamp, content: Arc::new(content) },
        Err(error) => unreadable(error),
    }
}

/// Reads a file, and again when it changed meanwhile.
fn read_steadily(descriptor: &OwnedFd, mut before: Stamp, max_bytes: u64) -> io::Result<(Stamp, Content)> {
    let mut tries = 0;
    loop {
        let mut bytes = read_once(descriptor, before.size, max_bytes)?;
        let after = Stamp::of(&rustix::fs::fstat(descriptor)?);
        tries += 1;
        if after != before && tries < TRIES {
            before = after;
            rustix::fs::seek(descriptor, SeekFrom::Start(0))?;
            continue;
        }
        let whole = bytes.len() as u64 <= max_bytes;
        bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        let sha256 = ContentHash::of(&bytes);
        let (unsteady, markup) = (after != before, OnceLock::new());
        return Ok((after, Content { bytes, sha256, whole, unsteady, markup }));
    }
}

/// Reads up to the size that the system names, or to the end where it names none; one byte more than `max_bytes`
/// tells that there is more. A file that grew meanwhile shows in its stamp.
fn read_once(descriptor: &OwnedFd, size: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
    let enough = usize::try_from(max_bytes).unwrap_or(usize::MAX).saturating_add(1);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(size.saturating_add(1).min(enough));
    while bytes.len() < enough && (size == 0 || bytes.len() < size) {
        if bytes.len() == bytes.capacity() {
            bytes.reserve(4_096.min(enough - bytes.len()));
        }
        match rustix::io::read(descriptor, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}
