//! Puts protected files back as they were. The command's versions are set aside and not lost: while it ran, somebody else
//! may have written one of them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use instructions::beneath::file_type;
use protocol::FileChange;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

use crate::ToolContext;
use crate::place::read_flags;

/// Most bytes of a file that is remembered or set aside.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most bytes that are remembered for one command.
const MAX_BYTES: u64 = 16 << 20;
/// What is put back of a repository: what makes git run programs. The rest belongs together, and half of it put back would
/// be worse than none.
const OF_REPOSITORIES: &[&str] = &["hooks", "config", "info"];
const REPOSITORY: &str = ".git";

/// What a protected file was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    File { content: Vec<u8>, mode: RawMode },
    Link(OsString),
}

/// How much may still be remembered.
pub(super) struct Room(u64);

impl Default for Room {
    fn default() -> Self {
        Self(MAX_BYTES)
    }
}

impl Room {
    /// Remembers a file, if it can be put back and is not too large.
    pub(super) fn keep(&mut self, directory: &OwnedFd, path: &Path, stat: &Stat) -> Option<Kept> {
        let name = path.file_name().filter(|_| is_restorable(path))?;
        match file_type(stat) {
            FileType::RegularFile => {
                let content = read(directory, name, MAX_FILE_BYTES.min(self.0))?;
                self.0 -= content.len() as u64;
                Some(Kept::File { content, mode: stat.st_mode & 0o7777 })
            }
            FileType::Symlink => Some(Kept::Link(read_link(directory, name)?)),
            _ => None,
        }
    }
}

/// Whether a file is one that is put back.
fn is_restorable(path: &Path) -> bool {
    let mut names = path.iter();
    match names.find(|name| name.eq_ignore_ascii_case(REPOSITORY)) {
        None => true,
        Some(_) => names.next().is_none_or(|part| OF_REPOSITORIES.iter().any(|own| part == *own)),
    }
}

/// Puts files back, below a root.
pub(super) struct Undo<'a> {
    context: &'a ToolContext,
    /// Made when it is first needed.
    aside: Option<PathBuf>,
}

impl<'a> Undo<'a> {
    pub(super) fn new(context: &'a ToolContext) -> Self {
        Self { context, aside: None }
    }

    /// Where the command's versions are, if there are any.
    pub(super) fn set_aside(self) -> Option<PathBuf> {
        self.aside
    }

    /// Puts a file back; false when it stays as the command left it.
    pub(super) fn undo(&mut self, path: &Path, change: FileChange, kept: Option<&Kept>) -> bool {
        if !is_restorable(path) || (change != FileChange::New && kept.is_none()) {
            return false;
        }
        self.try_undo(path, change, kept).unwrap_or(false)
    }

    fn try_undo(&mut self, path: &Path, change: FileChange, kept: Option<&Kept>) -> Option<bool> {
        let name = path.file_name()?;
        let directory = self.holder(path.parent()?)?;
        if change != FileChange::Removed && !self.move_aside(&directory, path, name) {
            return Some(false);
        }
        let Some(kept) = kept else { return Some(true) };
        Some(restore(&directory, name, kept).is_ok())
    }

    /// Opens a directory below the root, or makes it again. No link is followed: the command may have put one there.
    fn holder(&self, below: &Path) -> Option<OwnedFd> {
        let flags = directory_flags();
        let mut directory = self.context.whole().ok()?.open_directory().ok()?;
        for name in below {
            let mode = Mode::from_raw_mode(0o777);
            let inner = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&directory, name, mode).ok()?;
                    rustix::fs::openat(&directory, name, flags, Mode::empty())
                }
                opened => opened,
            };
            directory = inner.ok()?;
        }
        Some(directory)
    }

    /// Moves what the command made away; false when it stays.
    fn move_aside(&mut self, directory: &OwnedFd, path: &Path, name: &OsStr) -> bool {
        let Some(aside) = self.aside_of(path) else { return false };
        if rustix::fs::renameat(directory, name, CWD, &aside).is_ok() {
            return true;
        }
        // On another file system, what is small is copied.
        if copy(directory, name, &aside).is_some() {
            return remove(directory, name).is_some();
        }
        let _ = std::fs::remove_dir_all(&aside);
        false
    }

    /// Where a file is set aside.
    fn aside_of(&mut self, path: &Path) -> Option<PathBuf> {
        if self.aside.is_none() {
            let made = tempfile::Builder::new().prefix("foreword-undone-").tempdir().ok()?;
            self.aside = Some(made.keep());
        }
        let aside = self.aside.as_ref()?.join(path);
        std::fs::create_dir_all(aside.parent()?).ok()?;
        Some(aside)
    }
}

/// Copies a file, a link or a directory of them; none when something in it is too large. What is copied stays.
fn copy(holder: &OwnedFd, name: &OsStr, to: &Path) -> Option<()> {
    let stat = rustix::fs::statat(holder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match file_type(&stat) {
        FileType::RegularFile => std::fs::write(to, read(holder, name, MAX_FILE_BYTES)?).ok(),
        FileType::Symlink => std::os::unix::fs::symlink(read_link(holder, name)?, to).ok(),
        FileType::Directory => {
            std::fs::create_dir(to).ok()?;
            let (directory, names) = open_directory(holder, name)?;
            names.iter().try_for_each(|name| copy(&directory, name, &to.join(name)))
        }
        // Nothing is in a pipe or a socket that nobody holds.
        _ => Some(()),
    }
}

/// Removes a file, or a directory with all that is in it.
fn remove(holder: &OwnedFd, name: &OsStr) -> Option<()> {
    let stat = rustix::fs::statat(holder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if file_type(&stat) != FileType::Directory {
        return rustix::fs::unlinkat(holder, name, AtFlags::empty()).ok();
    }
    let (directory, names) = open_directory(holder, name)?;
    names.iter().try_for_each(|name| remove(&directory, name))?;
    rustix::fs::unlinkat(holder, name, AtFlags::REMOVEDIR).ok()
}

fn open_directory(holder: &OwnedFd, name: &OsStr) -> Option<(OwnedFd, Vec<OsString>)> {
    let directory = rustix::fs::openat(holder, name, directory_flags(), Mode::empty()).ok()?;
    let entries = rustix::fs::Dir::read_from(&directory).ok()?.flatten();
    let names = entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
    let names = names.filter(|name| name != "." && name != "..").collect();
    Some((directory, names))
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Makes a file as it was.
fn restore(directory: &OwnedFd, name: &OsStr, kept: &Kept) -> std::io::Result<()> {
    match kept {
        Kept::Link(target) => Ok(rustix::fs::symlinkat(target, directory, name)?),
        Kept::File { content, mode } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(opened);
            file.write_all(content)?;
            Ok(rustix::fs::fchmod(file.as_fd(), Mode::from_raw_mode(*mode))?)
        }
    }
}

/// The whole of a file, if it is a file and not longer than this.
fn read(directory: &OwnedFd, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
    let opened = rustix::fs::openat(directory, name, read_flags(), Mode::empty()).ok()?;
    let file = File::from(opened);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= limit).then_some(content)
}

fn read_link(directory: &OwnedFd, name: &OsStr) -> Option<OsString> {
    let target = rustix::fs::readlinkat(directory, name, Vec::new()).ok()?;
    Some(OsString::from_vec(target.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_repository_only_what_runs_programs_is_put_back() {
        for (path, expected) in [
            ("AGENTS.md", true),
            ("a/.agents/x", true),
            (".git", true),
            (".git/hooks/pre-commit", true),
            (".git/config", true),
            ("a/.git/info/attributes", true),
            (".git/HEAD", false),
            (".git/refs/heads/main", false),
        ] {
            assert_eq!(is_restorable(Path::new(path)), expected, "{path}");
        }
    }
}
