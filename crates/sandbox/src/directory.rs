//! A directory by its path and by what it is, so that a path that leads elsewhere later is noticed.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

/// A directory that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    // Not a `PathBuf`: serde takes those only when they are UTF-8.
    path: OsString,
    identity: Identity,
}

/// What something on disk is, wherever it is.
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
    /// The directory at a path, which is absolute and without links.
    pub fn look(path: &Path) -> io::Result<Self> {
        Self::of(path, open(path)?)
    }

    /// A directory that is open already.
    pub fn of(path: &Path, descriptor: impl AsFd) -> io::Result<Self> {
        Ok(Self { path: path.as_os_str().to_owned(), identity: Identity::of(descriptor)? })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }

    /// Opens it, if it is still the same one.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        self.open_at(&self.path())
    }

    /// Opens a path that must lead to this very directory.
    pub(crate) fn open_at(&self, path: &Path) -> io::Result<OwnedFd> {
        let opened = open(path)?;
        if Identity::of(&opened)? == self.identity {
            return Ok(opened);
        }
        Err(io::Error::other(format!("{} is not the directory that it was", self.path().display())))
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    // `O_PATH` where there is one: a directory that may be entered but not listed is one, too.
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Numbers have other widths on other systems.
fn wide<N: TryInto<u64>>(number: N) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_directory_at_the_same_path_is_noticed() {
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
