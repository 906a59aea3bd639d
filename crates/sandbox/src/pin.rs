//! A file system object that is identified before a sandbox is set up, and verified by the helper inside before the command
//! begins.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxAttributes, StatxFlags};
use serde::{Deserialize, Serialize};

use crate::directory::Identity;

/// An object that must be at a path inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pin {
    at: Name,
    identity: Identity,
    expected: Expected,
}

/// Expected relation of a path to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expected {
    /// The path leads to the object.
    Same,
    /// The path leads to the object and is a mount point. A mount point cannot be moved.
    Mounted,
    /// The path is a mount point that covers the object.
    Hidden,
}

/// A path with a compact JSON form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl Name {
    fn of(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_owned()),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }
}

impl Pin {
    /// Identifies the object at `path`, which must contain no links and will be visible at `at`.
    pub(crate) fn look(path: &Path, at: &Path, expected: Expected) -> io::Result<Self> {
        let identity = open_without_links(path).and_then(Identity::of);
        let identity = identity.map_err(|error| changed(path, &error.to_string()))?;
        Ok(Self { at: Name::of(at), identity, expected })
    }

    /// Verifies the object inside the sandbox.
    pub(crate) fn check(&self) -> io::Result<()> {
        let path = self.at.path();
        let opened = open_without_links(&path).map_err(|error| changed(&path, &error.to_string()))?;
        let is_same = Identity::of(&opened)? == self.identity;
        let is_as_expected = match self.expected {
            Expected::Same => is_same,
            Expected::Mounted => is_same && is_mount(&opened)?,
            Expected::Hidden => !is_same && is_mount(&opened)?,
        };
        if is_as_expected { Ok(()) } else { Err(changed(&path, "it is not what was mounted there")) }
    }
}

fn changed(path: &Path, why: &str) -> io::Error {
    let path = path.display();
    io::Error::other(format!("{path} changed while the sandbox was made ({why}); run the command again"))
}

/// Returns true if the descriptor is the root of a mount.
fn is_mount(descriptor: &OwnedFd) -> io::Result<bool> {
    // `statx` is asked for the attribute instead of comparing device numbers: a bind mount has the same device.
    let stat = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    if !stat.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(io::Error::other("the kernel does not say what is mounted; it needs Linux 5.8 or later"));
    }
    Ok(stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Opens an absolute path component by component. Returns an error if one is a link.
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut opened = rustix::fs::open("/", flags, Mode::empty())?;
    for component in path.components() {
        let name: &OsStr = match component {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        };
        // With `O_PATH`, `NOFOLLOW` opens a final link itself instead of failing, so the type is checked.
        opened = rustix::fs::openat(&opened, name, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        if kind == FileType::Symlink {
            return Err(io::Error::other("a link is there"));
        }
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn moved_or_linked_object_is_detected() {
        let holder = tempfile::tempdir().unwrap();
        let path = holder.path().canonicalize().unwrap();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        let pin = Pin::look(&path.join("a/b"), &path.join("a/b"), Expected::Same).unwrap();
        pin.check().unwrap();
        let mounted = Pin { expected: Expected::Mounted, ..pin.clone() };
        assert!(mounted.check().unwrap_err().to_string().contains("is not what was mounted there"));
        std::fs::rename(path.join("a"), path.join("c")).unwrap();
        assert!(pin.check().is_err(), "it is gone");
        symlink("c", path.join("a")).unwrap();
        let error = pin.check().unwrap_err().to_string();
        assert!(error.contains("(a link is there); run the command again"), "{error}");
        assert!(Pin::look(&path.join("a/b"), &path, Expected::Same).is_err());
        let proc = Pin::look(Path::new("/proc"), Path::new("/proc"), Expected::Mounted).unwrap();
        proc.check().unwrap();
    }
}
