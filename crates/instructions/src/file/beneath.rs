//! Opens a file below a directory, following links only as far as they stay below it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::read_flags;

/// Most links followed on the way to one file, as the system itself counts.
const MOST_LINKS: usize = 40;

/// Opens `root`/`relative`. A way out of the root is `XDEV`.
pub(super) fn open(root: BorrowedFd<'_>, root_path: &Path, relative: &Path) -> Result<OwnedFd, Errno> {
    let opened = match open_by_system(root, relative) {
        // The system has no such call, or a sandbox forbids it.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_by_component(root, relative),
        opened => opened,
    };
    match opened {
        // An absolute link counts as a way out here, although it may lead back in.
        Err(Errno::XDEV) => open_resolved(root, root_path, relative),
        opened => opened,
    }
}

#[cfg(target_os = "linux")]
fn open_by_system(root: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(root, relative, read_flags(), Mode::empty(), stay) {
            // A rename elsewhere on the system made the kernel unsure; it asks to try again.
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_by_system(_: BorrowedFd<'_>, _: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// The same by hand: one component after another, none of them opened through a link.
pub(super) fn open_by_component(root: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut waiting: VecDeque<OsString> = components(relative)?;
    let mut opened: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(name) = waiting.pop_front() {
        if name == ".." {
            opened.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = opened.last().map_or(root, AsFd::as_fd);
        let flags = if waiting.is_empty() { read_flags() } else { directory_flags() };
        match rustix::fs::openat(here, &name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(descriptor) if waiting.is_empty() => return Ok(descriptor),
            Ok(descriptor) => opened.push(descriptor),
            // What a link answers to somebody who does not follow it.
            Err(Errno::LOOP | Errno::MLINK | Errno::NOTDIR) => {
                let target = rustix::fs::readlinkat(here, &name, Vec::new()).map_err(|_| Errno::NOTDIR)?;
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = std::path::PathBuf::from(os_string(target));
                for component in components(&target)?.into_iter().rev() {
                    waiting.push_front(component);
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::ISDIR)
}

fn directory_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::CLOEXEC | super::path_only()
}

fn os_string(text: std::ffi::CString) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(text.into_bytes())
}

/// A relative path's names; an absolute one leads out.
fn components(path: &Path) -> Result<VecDeque<OsString>, Errno> {
    let mut names = VecDeque::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push_back(name.to_owned()),
            Component::ParentDir => names.push_back("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(names)
}

/// Finds where a path with absolute links ends, and opens that, without any link, below the root.
fn open_resolved(root: BorrowedFd<'_>, root_path: &Path, relative: &Path) -> Result<OwnedFd, Errno> {
    let errno = |error: std::io::Error| error.raw_os_error().map_or(Errno::XDEV, Errno::from_raw_os_error);
    let real_root = root_path.canonicalize().map_err(errno)?;
    let real = root_path.join(relative).canonicalize().map_err(errno)?;
    let inside = real.strip_prefix(&real_root).map_err(|_| Errno::XDEV)?;
    // Nothing of this path is a link now; should one appear meanwhile, it is not followed out.
    match open_by_system(root, inside) {
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_by_component(root, inside),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Both ways of opening must agree on every kind of path.
    #[test]
    fn by_system_and_by_hand_agree() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("file"), "f").unwrap();
        fs::write(root.join("a/b/file"), "ab").unwrap();
        fs::write(directory.path().join("outside"), "o").unwrap();
        symlink("file", root.join("link")).unwrap();
        symlink("../file", root.join("a/up")).unwrap();
        symlink("../../outside", root.join("a/out")).unwrap();
        symlink("../../root/file", root.join("a/out-and-in")).unwrap();
        symlink(directory.path().join("outside"), root.join("absolute-out")).unwrap();
        symlink(root.join("file"), root.join("absolute-in")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("a/b", root.join("d")).unwrap();
        symlink("file/x", root.join("through-file")).unwrap();
        symlink("a", root.join("to-directory")).unwrap();
        let inside = super::super::Inside::new(&root);
        let descriptor = inside.descriptor().unwrap();
        let inode = |opened: Result<OwnedFd, Errno>| opened.map(|fd| rustix::fs::fstat(fd).unwrap().st_ino);
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
            "through-file",
            "../outside",
            "to-directory/b/file",
            "a/../../outside",
        ] {
            let path = Path::new(path);
            let by_hand = inode(open_by_component(descriptor, path));
            let by_system = inode(open_by_system(descriptor, path));
            if by_system != Err(Errno::NOSYS) {
                assert_eq!(by_hand, by_system, "{}", path.display());
            }
        }
        let file =
            fs::metadata(root.join("file")).map(|metadata| std::os::unix::fs::MetadataExt::ino(&metadata));
        let open = |path: &str| inode(open(descriptor, &root, Path::new(path)));
        assert_eq!(open("absolute-in").ok(), file.ok());
        assert_eq!(open("absolute-out"), Err(Errno::XDEV));
        assert_eq!(open("a/out"), Err(Errno::XDEV));
    }
}
