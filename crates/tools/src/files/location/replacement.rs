//! Replaces a file in one step, so that readers see either the old or the new content.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use instructions::contained_path::{directory_flags, file_type, type_name};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::Location;
use crate::FileError;
use crate::files::blocking::BlockingWork;

/// Mode of a new file, before the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);
/// Parts of a file's mode that a new content keeps. As the kernel does, without the right to run as the file's owner.
const KEPT_MODE: rustix::fs::RawMode = 0o1777;
const WRITABLE: rustix::fs::RawMode = 0o222;
/// Attempts to find an unused temporary name.
const TRIES: usize = 16;

impl Location {
    /// Writes the file. An existing one keeps its mode, and its owner if the system allows that.
    ///
    /// With `known`, requires the file to be in that state.
    pub(crate) fn replace(
        &self,
        content: &[u8],
        known: Option<&Stat>,
        work: &BlockingWork,
    ) -> Result<(), FileError> {
        let (Some(holder), Some(name)) = (&self.followed.holder, self.followed.below.file_name()) else {
            return Err(FileError::NotAFile { path: self.shown.clone(), kind: "directory" });
        };
        let before = self.followed.entry.as_ref().map(|entry| &entry.stat);
        if let Some(stat) = before {
            if file_type(stat) != FileType::RegularFile {
                return Err(FileError::NotAFile { path: self.shown.clone(), kind: type_name(stat) });
            }
            // A rename needs no permission on the file itself, so a read-only file would be replaced without this
            // check.
            if stat.st_mode & WRITABLE == 0 {
                return Err(FileError::ReadOnly { path: self.shown.clone() });
            }
        }
        let failed = |errno| FileError::of(errno, &self.shown);
        let made = make_directories(holder.as_fd(), &self.followed.missing).map_err(failed)?;
        let holder = made.as_ref().map_or(holder.as_fd(), |made| made.as_fd());
        let (beside, file) = Beside::create(holder).map_err(failed)?;
        write(file, content, before).map_err(|error| FileError::io(error, &self.shown))?;
        work.check()?;
        // Checked as late as possible. Between this and the rename a change can still be overwritten; no file system call
        // closes that gap for a file that other programs replace by rename, too.
        if let Some(known) = known {
            let now = rustix::fs::statat(holder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            if state(&now) != state(known) {
                return Err(FileError::Changed { path: self.shown.clone() });
            }
        }
        rustix::fs::renameat(holder, &beside.name, holder, name).map_err(failed)?;
        beside.keep();
        // The file is complete; only a power failure could still undo the rename, so a failed sync is not an error.
        let _ = reopened(holder).and_then(|directory| rustix::fs::fsync(&directory));
        Ok(())
    }
}

/// Returns the values that differ after any change of a file.
fn state(stat: &Stat) -> impl PartialEq + use<> {
    (stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec)
}

fn write(mut file: File, content: &[u8], before: Option<&Stat>) -> std::io::Result<()> {
    file.write_all(content)?;
    if let Some(stat) = before {
        let owner = Some(rustix::fs::Uid::from_raw(stat.st_uid));
        let group = Some(rustix::fs::Gid::from_raw(stat.st_gid));
        // Succeeds only for a privileged process, which is also the only one for which the owner can differ.
        let _ = rustix::fs::fchown(&file, owner, group);
        rustix::fs::fchmod(&file, Mode::from_raw_mode(stat.st_mode & KEPT_MODE))?;
    }
    file.sync_all()
}

fn make_directories(holder: BorrowedFd<'_>, names: &[OsString]) -> Result<Option<OwnedFd>, Errno> {
    let mut made: Option<OwnedFd> = None;
    for name in names {
        let here = made.as_ref().map_or(holder, |made| made.as_fd());
        match rustix::fs::mkdirat(here, name, NEW_DIRECTORY) {
            // Another call may create the same directory at the same time. A link or a file of that name fails when it
            // is opened below.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        made = Some(rustix::fs::openat(here, name, directory_flags() | OFlags::NOFOLLOW, Mode::empty())?);
    }
    Ok(made)
}

/// Opens a directory again: a descriptor opened with `O_PATH` cannot be synchronised.
fn reopened(directory: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The temporary file, removed unless it was renamed into place.
struct Beside<'a> {
    directory: BorrowedFd<'a>,
    name: OsString,
    kept: bool,
}

impl<'a> Beside<'a> {
    fn create(directory: BorrowedFd<'a>) -> Result<(Self, File), Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name: OsString = format!(".foreword-{}-{number}.tmp", std::process::id()).into();
            match rustix::fs::openat(directory, AsRef::<OsStr>::as_ref(&name), flags, NEW_FILE) {
                Ok(descriptor) => return Ok((Self { directory, name, kept: false }, File::from(descriptor))),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::super::ContainedRoot;
    use super::*;

    #[test]
    fn file_changed_meanwhile_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "mine").unwrap();
        let root = Arc::new(ContainedRoot::open(directory.path()).unwrap());
        let place = root.find(Path::new("file"), Path::new("file")).unwrap();
        let (_, stat) = place.open_file().unwrap();
        fs::write(&path, "theirs").unwrap();
        let error = place.replace(b"new", Some(&stat), &BlockingWork::endless()).unwrap_err();
        assert!(matches!(error, FileError::Changed { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        place.replace(b"new", None, &BlockingWork::endless()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
