//! Resolves paths below a directory. Checks always apply to the opened file, never to a path that is checked first and
//! opened later.

mod replacement;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::contained_path::{self, Entry, Followed, file_type, type_name};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::FileError;

/// An opened directory that no path can leave.
#[derive(Debug)]
pub(crate) struct ContainedRoot {
    /// Path as given.
    given: PathBuf,
    /// Resolved path.
    real: PathBuf,
    descriptor: OwnedFd,
}

impl ContainedRoot {
    pub(crate) fn open(given: &Path) -> io::Result<Self> {
        let real = given.canonicalize()?;
        let descriptor = rustix::fs::open(&real, contained_path::directory_flags(), Mode::empty())?;
        Ok(Self { given: given.to_owned(), real, descriptor })
    }

    /// Returns the resolved path.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Returns the part of `path` below the root, if it is written that way. It may still lead outside by `..` or a link.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.given).or_else(|_| path.strip_prefix(&self.real)).ok()
    }

    /// Converts a resolved path into one below the root as it was given.
    pub(crate) fn as_given(&self, real: &Path) -> Option<PathBuf> {
        real.strip_prefix(&self.real).ok().map(|below| self.given.join(below))
    }

    /// Returns true if the path still leads to the opened directory. Users and instruction files refer to the path, so after a
    /// move the descriptor would be the wrong directory.
    pub(crate) fn is_in_place(&self) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let opened = rustix::fs::fstat(&self.descriptor).map(identity);
        opened.is_ok() && opened == rustix::fs::stat(&self.real).map(identity)
    }

    /// Follows a relative path. Errors show it as `shown`.
    pub(crate) fn find(self: &Arc<Self>, relative: &Path, shown: &Path) -> Result<Location, FileError> {
        // A root that was moved or replaced still has an open descriptor, but users would look for the changes at its path.
        if !self.is_in_place() {
            return Err(FileError::RootMoved { root: self.real.clone() });
        }
        match contained_path::follow(self.descriptor(), &[&self.given, &self.real], relative) {
            Ok(followed) => Ok(Location { root: self.clone(), shown: shown.to_owned(), followed }),
            Err(Errno::XDEV) => Err(FileError::Outside { path: shown.to_owned(), root: self.real.clone() }),
            Err(errno) => Err(FileError::of(errno, shown)),
        }
    }
}

/// The target of a path, with all links followed.
#[derive(Debug)]
pub(crate) struct Location {
    root: Arc<ContainedRoot>,
    /// Path shown in errors.
    shown: PathBuf,
    followed: Followed,
}

impl Location {
    /// Returns the resolved path.
    pub(crate) fn real(&self) -> PathBuf {
        // Joining an empty path would append a slash, which `pwd` would then print.
        if self.followed.below.as_os_str().is_empty() {
            return self.root.real.clone();
        }
        self.root.real.join(&self.followed.below)
    }

    /// Returns the resolved path relative to the root.
    pub(crate) fn below(&self) -> &Path {
        &self.followed.below
    }

    pub(crate) fn root(&self) -> &Arc<ContainedRoot> {
        &self.root
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.followed.entry.as_ref().is_some_and(|entry| file_type(&entry.stat) == FileType::Directory)
    }

    pub(crate) fn exists(&self) -> bool {
        self.followed.entry.is_some()
    }

    /// Opens a regular file to read it.
    pub(crate) fn open_file(&self) -> Result<(File, Stat), FileError> {
        let entry = self.entry()?;
        let refused = |stat: &Stat| FileError::NotAFile { path: self.shown.clone(), kind: type_name(stat) };
        // Opening a device can have effects, so only regular files are opened. The type is checked again on the descriptor,
        // because the file may have been replaced in between.
        if file_type(&entry.stat) != FileType::RegularFile {
            return Err(refused(&entry.stat));
        }
        let (Some(holder), Some(name)) = (&self.followed.holder, self.followed.below.file_name()) else {
            return Err(refused(&entry.stat));
        };
        let opened = rustix::fs::openat(holder, name, read_flags(), Mode::empty())
            .map_err(|errno| FileError::of(errno, &self.shown))?;
        let stat = rustix::fs::fstat(&opened).map_err(|errno| FileError::of(errno, &self.shown))?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(refused(&stat));
        }
        Ok((File::from(opened), stat))
    }

    /// Opens a directory to list it.
    pub(crate) fn open_directory(&self) -> Result<OwnedFd, FileError> {
        let entry = self.entry()?;
        if file_type(&entry.stat) != FileType::Directory {
            return Err(FileError::NotADirectory { path: self.shown.clone(), kind: type_name(&entry.stat) });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&entry.descriptor, ".", flags, Mode::empty())
            .map_err(|errno| FileError::of(errno, &self.shown))
    }

    fn entry(&self) -> Result<&Entry, FileError> {
        self.followed.entry.as_ref().ok_or_else(|| FileError::Absent { path: self.shown.clone() })
    }
}

/// Flags for reading: a pipe or device must neither block nor become the terminal, and a link that appears meanwhile must not be
/// followed.
pub(crate) fn read_flags() -> OFlags {
    contained_path::read_flags() | OFlags::NOFOLLOW
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::ToolContext;

    // A command that prints its directory is compared with the prompt, where the root has no trailing slash.
    #[test]
    fn root_has_no_trailing_slash() {
        let directory = tempfile::tempdir().unwrap();
        let context = ToolContext::open(directory.path(), directory.path()).unwrap();
        let real = context.find(Path::new(".")).unwrap().real();
        assert_eq!(real.as_os_str(), directory.path().canonicalize().unwrap().as_os_str());
    }
}
