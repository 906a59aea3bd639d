//! Path lookup that never leaves a directory, shared by instruction files and tools.
//!
//! Neither cap-std nor pathrs fits. cap-std refuses absolute links that lead back in and answers with an open file only;
//! tools also need where a path really ends, because that decides whether it is protected, and the directory that holds
//! it, because a file is replaced there. pathrs is for Linux only and takes a link that leads out as one that starts
//! again at the root, where we have to report it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Limit of symbolic links, the same as the kernel's.
pub(crate) const MAX_LINKS: usize = 40;

/// Result of following a path, with all links resolved.
#[derive(Debug)]
pub struct Followed {
    /// Path relative to the root, without links.
    pub below: PathBuf,
    /// Directory that contains the entry; `None` for the root itself.
    pub holder: Option<OwnedFd>,
    /// The entry; `None` if it does not exist.
    pub entry: Option<Entry>,
    /// Missing directories between the holder and the entry's name.
    pub missing: Vec<OsString>,
}

/// An existing entry, opened without access to its content.
#[derive(Debug)]
pub struct Entry {
    /// Descriptor for inspecting the entry and for opening entries below it.
    pub descriptor: OwnedFd,
    /// Metadata at the time of opening.
    pub stat: Stat,
}

/// Opens a file below `root`, located at `root_path`, for reading. Fails with `XDEV` if the path leads
/// outside.
pub fn open(root: BorrowedFd<'_>, root_path: &Path, relative: &Path) -> Result<OwnedFd, Errno> {
    match open_inside(root, relative) {
        // The kernel rejects absolute links, and links that leave the root and return. The resolved path
        // contains no links.
        Err(Errno::XDEV) => open_inside(root, &resolved(root_path, relative)?),
        opened => opened,
    }
}

/// Follows `relative` from `root` component by component, without opening anything through a link. An
/// absolute link may lead to one of the `root_paths`; any other path outside fails with `XDEV`.
// Each component is opened relative to the descriptor of the previous one, so a directory that is replaced by
// a link during the walk cannot redirect it.
pub fn follow(root: BorrowedFd<'_>, root_paths: &[&Path], relative: &Path) -> Result<Followed, Errno> {
    let Walk { mut passed, absent } = walk(root, root_paths, relative)?;
    let below: PathBuf = passed.iter().map(|(name, _)| name).chain(&absent).collect();
    let mut missing = Vec::from(absent);
    let entry = match missing.pop() {
        Some(_) => None,
        None => match passed.pop() {
            Some((_, entry)) => Some(entry),
            None => {
                let descriptor = duplicate(root)?;
                let stat = rustix::fs::fstat(&descriptor)?;
                let entry = Some(Entry { descriptor, stat });
                return Ok(Followed { below, holder: None, entry, missing });
            }
        },
    };
    let holder = match passed.pop() {
        Some((_, entry)) => entry.descriptor,
        None => duplicate(root)?,
    };
    Ok(Followed { below, holder: Some(holder), entry, missing })
}

/// State of a partially followed path.
struct Walk {
    /// Existing components, root first.
    passed: Vec<(OsString, Entry)>,
    /// Names of missing components, in order.
    absent: VecDeque<OsString>,
}

fn walk(root: BorrowedFd<'_>, root_paths: &[&Path], relative: &Path) -> Result<Walk, Errno> {
    let mut waiting = VecDeque::new();
    prepend(&mut waiting, relative)?;
    let mut passed: Vec<(OsString, Entry)> = Vec::new();
    let mut links = 0;
    while let Some(name) = waiting.pop_front() {
        if name == ".." {
            passed.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = passed.last().map_or(root, |(_, entry)| entry.descriptor.as_fd());
        match look(here, &name) {
            Ok(Seen::Link(target)) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                if target.is_absolute() {
                    // The root may have several names, for example through a link. An absolute target below any of them
                    // is inside.
                    let below = root_paths.iter().find_map(|root| target.strip_prefix(root).ok());
                    prepend(&mut waiting, below.ok_or(Errno::XDEV)?)?;
                    passed.clear();
                } else {
                    prepend(&mut waiting, &target)?;
                }
            }
            Ok(Seen::Entry(entry)) => {
                // Without this check, `file/..` would succeed here, although the kernel rejects it.
                if !waiting.is_empty() && file_type(&entry.stat) != FileType::Directory {
                    return Err(Errno::NOTDIR);
                }
                passed.push((name, entry));
            }
            // A missing entry has no parent, so `..` after it cannot be resolved.
            Err(Errno::NOENT) if waiting.iter().any(|name| name == "..") => return Err(Errno::NOENT),
            Err(Errno::NOENT) => {
                waiting.push_front(name);
                return Ok(Walk { passed, absent: waiting });
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(Walk { passed, absent: waiting })
}

/// Returns the type of an entry.
pub fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns the word for the type of an entry.
pub fn type_name(stat: &Stat) -> &'static str {
    kind_name(file_type(stat))
}

/// Returns the word for a type of entries.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Symlink => "link",
        _ => "something else",
    }
}

/// Returns flags for opening files. Opening must not block on a pipe, nor acquire a terminal.
pub fn read_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// Returns flags for opening directories for lookups.
pub fn directory_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::CLOEXEC | path_only()
}

/// Returns flags for opening without access to the content, if the system supports it.
#[cfg(target_os = "linux")]
fn path_only() -> OFlags {
    OFlags::PATH
}

#[cfg(not(target_os = "linux"))]
fn path_only() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY
}

fn open_inside(root: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    match open_by_system(root, relative) {
        // The system call is missing, or a sandbox forbids it.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_by_hand(root, relative),
        opened => opened,
    }
}

#[cfg(target_os = "linux")]
fn open_by_system(root: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(root, relative, read_flags(), Mode::empty(), stay) {
            // A concurrent rename made the kernel's lookup ambiguous; it requests a retry.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_by_system(_: BorrowedFd<'_>, _: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn open_by_hand(root: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let Walk { mut passed, absent } = walk(root, &[], relative)?;
    if !absent.is_empty() {
        return Err(Errno::NOENT);
    }
    // A link created after the walk must not be followed.
    let flags = read_flags() | OFlags::NOFOLLOW;
    match passed.pop() {
        Some((name, _)) => {
            let holder = passed.last().map_or(root, |(_, entry)| entry.descriptor.as_fd());
            rustix::fs::openat(holder, name, flags, Mode::empty())
        }
        None => rustix::fs::openat(root, ".", flags, Mode::empty()),
    }
}

/// Returns the path below the root that a path resolves to, if it is inside. A link created afterwards is not
/// followed out.
fn resolved(root_path: &Path, relative: &Path) -> Result<PathBuf, Errno> {
    let errno = |error: io::Error| error.raw_os_error().map_or(Errno::XDEV, Errno::from_raw_os_error);
    // Both paths are canonical, because the root itself may be reached through a link.
    let real_root = root_path.canonicalize().map_err(errno)?;
    let real = root_path.join(relative).canonicalize().map_err(errno)?;
    real.strip_prefix(&real_root).map(Path::to_owned).map_err(|_| Errno::XDEV)
}

enum Seen {
    Link(PathBuf),
    Entry(Entry),
}

fn look(here: BorrowedFd<'_>, name: &OsStr) -> Result<Seen, Errno> {
    let link = || {
        let target = rustix::fs::readlinkat(here, name, Vec::new())?;
        Ok(Seen::Link(OsString::from_vec(target.into_bytes()).into()))
    };
    let flags = path_only() | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let descriptor = match rustix::fs::openat(here, name, flags, Mode::empty()) {
        // Systems without path-only descriptors fail with these errors for a link that is not followed.
        Err(Errno::LOOP | Errno::MLINK) => return link(),
        opened => opened?,
    };
    let stat = rustix::fs::fstat(&descriptor)?;
    if file_type(&stat) == FileType::Symlink {
        return link();
    }
    Ok(Seen::Entry(Entry { descriptor, stat }))
}

fn duplicate(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, 0)
}

/// Prepends the names of a relative path to the queue. An absolute path leads outside.
fn prepend(waiting: &mut VecDeque<OsString>, path: &Path) -> Result<(), Errno> {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => waiting.push_front(name.to_owned()),
            Component::ParentDir => waiting.push_front("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    struct Tree {
        directory: tempfile::TempDir,
        root: OwnedFd,
    }

    impl Tree {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().join("root");
            fs::create_dir_all(root.join("a/b")).unwrap();
            fs::write(root.join("file"), "f").unwrap();
            fs::write(root.join("a/b/file"), "ab").unwrap();
            fs::write(directory.path().join("outside"), "o").unwrap();
            for (target, link) in [
                ("file", "link"),
                ("../file", "a/up"),
                ("../../outside", "a/out"),
                ("../../root/file", "a/out-and-in"),
                ("nowhere", "dangling"),
                ("loop", "loop"),
                ("a/b", "d"),
                ("file/x", "through-file"),
                ("a", "to-directory"),
                ("..", "parent"),
                (".", "self"),
            ] {
                symlink(target, root.join(link)).unwrap();
            }
            symlink(directory.path().join("outside"), root.join("absolute-out")).unwrap();
            symlink(root.join("a/b/file"), root.join("absolute-in")).unwrap();
            let root = rustix::fs::open(&root, directory_flags(), Mode::empty()).unwrap();
            Self { directory, root }
        }

        fn root_path(&self) -> PathBuf {
            self.directory.path().join("root")
        }

        fn follow(&self, path: &str) -> Result<Followed, Errno> {
            follow(self.root.as_fd(), &[&self.root_path()], Path::new(path))
        }

        fn inode(&self, path: &str) -> u64 {
            fs::metadata(self.root_path().join(path)).unwrap().ino()
        }
    }

    fn inode(opened: Result<OwnedFd, Errno>) -> Result<u64, Errno> {
        opened.map(|descriptor| rustix::fs::fstat(descriptor).unwrap().st_ino)
    }

    #[test]
    fn by_system_and_by_hand_agree() {
        let tree = Tree::new();
        for path in [
            "file",
            "link",
            "a/up",
            "a/out",
            "a/out-and-in",
            "absolute-out",
            "absolute-in",
            "dangling",
            "loop",
            "d/file",
            "d/../b/file",
            "a/b",
            "nothing",
            "nothing/x",
            "file/x",
            "file/..",
            "through-file",
            "../outside",
            "to-directory/b/file",
            "a/../../outside",
            "parent",
            "parent/outside",
            "self/file",
            ".",
            "a/..",
        ] {
            let by_hand = inode(open_by_hand(tree.root.as_fd(), Path::new(path)));
            let by_system = inode(open_by_system(tree.root.as_fd(), Path::new(path)));
            if by_system != Err(Errno::NOSYS) {
                assert_eq!(by_hand, by_system, "{path}");
            }
        }
    }

    #[test]
    fn links_may_lead_back_in_to_be_read() {
        let tree = Tree::new();
        let open = |path: &str| inode(open(tree.root.as_fd(), &tree.root_path(), Path::new(path)));
        assert_eq!(open("absolute-in"), Ok(tree.inode("a/b/file")));
        assert_eq!(open("a/out-and-in"), Ok(tree.inode("file")));
        for path in ["absolute-out", "a/out", "../outside"] {
            assert_eq!(open(path), Err(Errno::XDEV), "{path}");
        }
    }

    #[test]
    fn a_path_is_followed_to_where_its_links_end() {
        let tree = Tree::new();
        for (path, below, missing) in [
            ("link", "file", 0),
            ("d/file", "a/b/file", 0),
            ("d/../up", "file", 0),
            ("absolute-in", "a/b/file", 0),
            ("dangling", "nowhere", 0),
            ("d/new/file", "a/b/new/file", 1),
            (".", "", 0),
        ] {
            let followed = tree.follow(path).unwrap();
            assert_eq!(
                (followed.below.as_path(), followed.missing.len()),
                (Path::new(below), missing),
                "{path}"
            );
        }
        let entry = tree.follow("absolute-in").unwrap().entry.unwrap();
        assert_eq!(entry.stat.st_ino, tree.inode("a/b/file"));
        assert_eq!(tree.follow("absolute-out").unwrap_err(), Errno::XDEV);
        assert_eq!(tree.follow("nothing/../file").unwrap_err(), Errno::NOENT);
    }
}
