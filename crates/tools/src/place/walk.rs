//! Follows a path below a directory, one component after another, none of them opened through a link.
//!
//! `openat2` with `RESOLVE_BENEATH` would be one call, but answers with a descriptor only. Tools need more: where the
//! path really ends, because that decides whether it is protected, and the directory that holds it, because a file
//! is replaced there. A test holds this walk to what `openat2` says.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Entry, Place, Root, kind, path_only};

/// Most links followed on the way, as the system itself counts.
const MOST_LINKS: usize = 40;

/// Follows `relative` from the root. A way out is `XDEV`.
pub(super) fn walk(root: &Arc<Root>, relative: &Path) -> Result<Place, Errno> {
    let mut waiting = VecDeque::new();
    prepend(&mut waiting, relative)?;
    let mut passed: Vec<(OsString, Entry)> = Vec::new();
    let mut links = 0;
    while let Some(name) = waiting.pop_front() {
        if name == ".." {
            passed.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = passed.last().map_or(root.descriptor(), |(_, entry)| entry.descriptor.as_fd());
        match look(here, &name) {
            Ok(Seen::Link(target)) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                if target.is_absolute() {
                    // It may lead back in.
                    let below = root.relative(&target).ok_or(Errno::XDEV)?;
                    prepend(&mut waiting, below)?;
                    passed.clear();
                } else {
                    prepend(&mut waiting, &target)?;
                }
            }
            Ok(Seen::Entry(entry)) => {
                if !waiting.is_empty() && kind(&entry.stat) != FileType::Directory {
                    return Err(Errno::NOTDIR);
                }
                passed.push((name, entry));
            }
            Err(Errno::NOENT) => return absent(root, passed, name, waiting),
            Err(errno) => return Err(errno),
        }
    }
    let below: PathBuf = passed.iter().map(|(name, _)| name).collect();
    let entry = match passed.pop() {
        Some((_, entry)) => entry,
        None => whole(root)?,
    };
    let holder = match (&below, passed.pop()) {
        (_, Some((_, holder))) => Some(holder.descriptor),
        (below, None) if below.as_path() == Path::new("") => None,
        (_, None) => Some(duplicate(root.descriptor())?),
    };
    Ok(Place {
        root: root.clone(),
        shown: root.real.join(relative),
        below,
        holder,
        entry: Some(entry),
        missing: Vec::new(),
    })
}

/// A place where nothing is yet.
fn absent(
    root: &Arc<Root>,
    mut passed: Vec<(OsString, Entry)>,
    name: OsString,
    waiting: VecDeque<OsString>,
) -> Result<Place, Errno> {
    // What is not there has no parent that could be looked up.
    if waiting.iter().any(|name| name == "..") {
        return Err(Errno::NOENT);
    }
    let mut missing: Vec<OsString> = std::iter::once(name).chain(waiting).collect();
    let below: PathBuf = passed.iter().map(|(name, _)| name).chain(&missing).collect();
    missing.pop();
    let holder = match passed.pop() {
        Some((_, entry)) => entry.descriptor,
        None => duplicate(root.descriptor())?,
    };
    Ok(Place {
        root: root.clone(),
        shown: root.real.join(&below),
        below,
        holder: Some(holder),
        entry: None,
        missing,
    })
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
        // What a link answers to somebody who does not follow it, where opening it is not possible.
        Err(Errno::LOOP | Errno::MLINK) => return link(),
        opened => opened?,
    };
    let stat = rustix::fs::fstat(&descriptor)?;
    if kind(&stat) == FileType::Symlink {
        return link();
    }
    Ok(Seen::Entry(Entry { descriptor, stat }))
}

fn whole(root: &Root) -> Result<Entry, Errno> {
    let descriptor = duplicate(root.descriptor())?;
    let stat = rustix::fs::fstat(&descriptor)?;
    Ok(Entry { descriptor, stat })
}

fn duplicate(descriptor: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, 0)
}

/// Puts a relative path's names before what waits; an absolute path leads out.
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

    fn tree() -> (tempfile::TempDir, Arc<Root>) {
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
        let root = Arc::new(Root::open(&root).unwrap());
        (directory, root)
    }

    fn inode(root: &Arc<Root>, path: &str) -> Result<u64, Errno> {
        let place = walk(root, Path::new(path))?;
        place.entry.map(|entry| entry.stat.st_ino).ok_or(Errno::NOENT)
    }

    /// The walk and the system must agree on every kind of path.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_walk_agrees_with_the_system() {
        use rustix::fs::ResolveFlags;
        let (_directory, root) = tree();
        for path in [
            "file",
            "link",
            "a/up",
            "a/out",
            "a/out-and-in",
            "absolute-out",
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
            let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            let opened = rustix::fs::openat2(
                root.descriptor(),
                path,
                path_only() | OFlags::CLOEXEC,
                Mode::empty(),
                stay,
            );
            let by_system = opened.map(|descriptor| rustix::fs::fstat(descriptor).unwrap().st_ino);
            if by_system != Err(Errno::NOSYS) {
                assert_eq!(inode(&root, path), by_system, "{path}");
            }
        }
    }

    #[test]
    fn a_place_is_where_the_links_end() {
        let (directory, root) = tree();
        for (path, below) in [
            ("link", "file"),
            ("d/file", "a/b/file"),
            ("d/../up", "file"),
            ("absolute-in", "a/b/file"),
            ("dangling", "nowhere"),
            ("d/new/file", "a/b/new/file"),
            (".", ""),
        ] {
            assert_eq!(walk(&root, Path::new(path)).unwrap().below(), Path::new(below), "{path}");
        }
        let file = fs::metadata(directory.path().join("root/a/b/file")).unwrap().ino();
        assert_eq!(inode(&root, "absolute-in"), Ok(file));
        assert_eq!(inode(&root, "absolute-out"), Err(Errno::XDEV));
        assert_eq!(inode(&root, "nothing/../file"), Err(Errno::NOENT));
    }
}
