//! Opens and reads a candidate. All checks are made on the opened descriptor, never on a path that is opened
//! later.

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

/// Bytes read beyond a limit, so that the headings of the omitted part can be listed.
pub(crate) const BLOCK: u64 = 65_536;
/// Number of attempts to read a file that keeps changing.
const TRIES: usize = 3;

/// Identity of one state of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Modification time in nanoseconds since 1970.
    pub(crate) modified: i128,
    /// Status change time in nanoseconds since 1970. It also changes with permissions.
    pub(crate) changed: i128,
}

impl Stamp {
    /// Returns the state described by metadata.
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

    /// Returns the modification time in milliseconds.
    pub(crate) fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified.div_euclid(1_000_000)).unwrap_or(0)
    }

    /// Returns true if the file had been unchanged long enough at `looked_at` that any later change must
    /// produce another stamp.
    // File systems store times with up to two seconds of granularity. A file modified twice within that span
    // can keep its stamp, so a fresh stamp must not be cached.
    pub fn is_settled(&self, looked_at: SystemTime) -> bool {
        const REST: i128 = 2_000_000_000;
        let looked_at =
            looked_at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        self.modified.max(self.changed) + REST <= looked_at
    }
}

/// Converts device and inode numbers, whose width depends on the system.
fn widen<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

/// Content of a file, as far as it was read.
#[derive(Debug)]
pub struct Content {
    /// First bytes of the file.
    pub bytes: Vec<u8>,
    /// SHA-256 of these bytes.
    pub sha256: ContentHash,
    /// True if these are all bytes of the file.
    pub whole: bool,
    /// True if the file kept changing while it was read.
    pub unsteady: bool,
    /// Front matter and comments, parsed on first use.
    markup: OnceLock<Markup>,
}

impl Content {
    pub(crate) fn new(bytes: Vec<u8>, whole: bool) -> Self {
        let sha256 = ContentHash::of(&bytes);
        Self { bytes, sha256, whole, unsteady: false, markup: OnceLock::new() }
    }

    /// Returns the parsed Markdown parts, under rules that interpret them.
    pub(crate) fn markup(&self, profile: &Profile) -> &Markup {
        // Only Foreword's own front matter is cached here. That of other agents depends on the profile and is
        // parsed where it is needed.
        match profile.text.front_matter {
            FrontMatterRule::Text | FrontMatterRule::Stripped | FrontMatterRule::StrippedLines => {
                const { &Markup::NONE }
            }
            FrontMatterRule::Conditions => self.markup.get_or_init(|| Markup::find(&self.bytes, self.whole)),
        }
    }

    /// Returns the bytes of the text after the front matter.
    pub(crate) fn text(&self, profile: &Profile) -> &[u8] {
        &self.bytes[self.markup(profile).start..]
    }
}

/// Result of opening a candidate.
#[derive(Debug, Clone)]
pub enum Found {
    /// A regular file.
    File {
        /// State of the file.
        stamp: Stamp,
        /// Content of the file.
        content: Arc<Content>,
    },
    /// Nothing exists at the path.
    Absent,
    /// A directory, pipe, device or socket.
    NotAFile {
        /// State of the entry.
        stamp: Stamp,
        /// Word for its type.
        kind: &'static str,
    },
    /// A link that leads outside the project.
    Outside,
    /// An excluded file.
    Private,
    /// The system denied access.
    Unreadable {
        /// Error of the system.
        reason: Arc<str>,
    },
}

impl Found {
    /// Returns true if nothing exists at the path.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Bounds of candidates.
#[derive(Debug, Default)]
pub struct Bounds<'a> {
    /// Directory that candidates must be inside; `None` for anywhere.
    root: Option<Inside>,
    /// Paths that candidates must not be inside.
    private_paths: &'a [PathBuf],
    /// The same paths resolved, once the first candidate was opened.
    private: OnceCell<Private>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn inside(directory: &Path) -> Self {
        Self { root: Some(Inside::new(directory)), ..Self::default() }
    }

    /// Excludes paths.
    pub fn without(mut self, private_paths: &'a [PathBuf]) -> Self {
        self.private_paths = private_paths;
        self
    }

    /// Returns the directory that candidates must be inside.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_ref().map(|root| root.path.as_path())
    }

    /// Returns the paths that candidates must not be inside.
    pub(crate) fn private_paths(&self) -> &'a [PathBuf] {
        self.private_paths
    }

    fn keep_private(&self, opened: &OwnedFd, path: &Path, stamp: Stamp) -> bool {
        let find = || Private::find(self.private_paths);
        !self.private_paths.is_empty()
            && self.private.get_or_init(find).holds(opened, path, (stamp.device, stamp.inode))
    }
}

/// Directory that candidates must be inside. It is opened on first use.
#[derive(Debug)]
pub(crate) struct Inside {
    path: PathBuf,
    descriptor: OnceCell<OwnedFd>,
}

impl Inside {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), descriptor: OnceCell::new() }
    }

    /// Returns a path relative to the directory. Compares bytes if both are written alike, which is the
    /// common case, and components otherwise.
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let below = path.as_os_str().as_bytes().strip_prefix(self.path.as_os_str().as_bytes());
        // The path is the directory itself.
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

/// Opens a candidate and reads at most `max_bytes` of it.
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

/// Opens any file and reads at most `max_bytes` of it, without blocking.
pub fn read_anywhere(path: &Path, max_bytes: u64) -> Found {
    read(path, &Bounds::default(), max_bytes)
}

/// Returns the bytes of a regular file, or `None` if it exceeds `max_bytes`.
pub fn read_whole(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    match read_anywhere(path, max_bytes) {
        Found::File { content, .. } if content.whole => Arc::into_inner(content).map(|content| content.bytes),
        _ => None,
    }
}

/// Opens a file below an open directory and reads at most `max_bytes` of it. Only the excluded paths of
/// `bounds` count, because the directory is the root.
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
        // A path below a regular file does not exist.
        Errno::NOENT | Errno::NOTDIR => Found::Absent,
        Errno::XDEV => Found::Outside,
        // Sockets and devices without a driver cannot be opened. Neither is an instruction file.
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
    // The type is checked on the descriptor. A check of the path before opening could be bypassed by replacing the
    // file.
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

/// Reads a file, and retries if it changed in between.
// Editors and generators rewrite files in place. A text read halfway through such a write would be frozen
// into a session.
fn read_steadily(descriptor: &OwnedFd, mut before: Stamp, max_bytes: u64) -> io::Result<(Stamp, Content)> {
    let mut tries = 0;
    loop {
        let mut bytes = read_once(descriptor, before.size, max_bytes)?;
        let after = Stamp::of(&rustix::fs::fstat(descriptor)?);
        tries += 1;
        // A file that changes continuously, such as a log, is used in its last state after a few attempts and reported
        // as unsteady.
        if after != before && tries < TRIES {
            before = after;
            rustix::fs::seek(descriptor, SeekFrom::Start(0))?;
            continue;
        }
        // One byte beyond the limit was read if there is one. It is removed again before hashing, so that the hash
        // covers what is used.
        let whole = bytes.len() as u64 <= max_bytes;
        bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        return Ok((after, Content { unsteady: after != before, ..Content::new(bytes, whole) }));
    }
}

/// Reads up to the size reported by the system, or to the end if that is 0. One byte beyond `max_bytes` shows
/// that there is more. Growth in between shows in the stamp.
// Files in /proc report a size of 0. Stopping at the reported size saves the final read call for all others,
// which counts in chains of many small files.
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
