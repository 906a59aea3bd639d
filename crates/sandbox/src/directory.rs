//! A directory identified by both path and inode, so that a path that leads elsewhere later is detected.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

/// A directory with its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    // An `OsString`, because serde supports `PathBuf` only if it is UTF-8.
    path: OsString,
    identity: Identity,
}

/// Identity of a file system object, independent of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(descriptor: impl AsFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(descriptor)?;
        Ok(Self { device: wide(stat.st_dev), inode: wide(stat.st_ino) })
    }
}

impl Directory {
    /// Reads the identity of the directory at `path`, which must be absolute and without links.
    pub fn look(path: &Path) -> io::Result<Self> {
        Self::of(path, open(path)?)
    }

    /// Returns the identity of an open directory.
    pub fn of(path: &Path, descriptor: impl AsFd) -> io::Result<Self> {
        Ok(Self { path: path.as_os_str().to_owned(), identity: Identity::of(descriptor)? })
    }

    /// Returns the path.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }

    /// Opens the directory. Returns an error if the path leads to another one.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        self.open_at(&self.path())
    }

    /// Opens `path`, which must lead to this directory.
    pub(crate) fn open_at(&self, path: &Path) -> io::Result<OwnedFd> {
        let opened = open(path)?;
        if Identity::of(&opened)? == self.identity {
            return Ok(opened);
        }
        Err(io::Error::other(format!("{} is not the directory that it was", self.path().display())))
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    // `O_PATH` also opens directories that can be entered but not listed.
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Widens a number whose type depends on the operating system.
fn wide<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_directory_is_detected() {
        let holder = tempfile::tempdir().unwrap();
        let path = holder.path().join("root");
        std::fs::create_dir(&path).unwrap();
        let directory = Directory::look(&path).unwrap();
        assert!(directory.open().is_ok());
        std::fs::rename(&path, holder.path().join("aside")).unwrap();
        std::fs::create_dir(&path).unwrap();
        let error = directory.open().unwrap_err().to_string();
        assert!(error.ends_with("root is not the directory that it was"), "{error}");
    }
}
