//! Restores protected files. The command's versions are set aside instead of deleted, because a user may have written one of
//! them while the command ran.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use instructions::contained_path::file_type;
use protocol::FileChange;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::ToolContext;
use crate::files::location::read_flags;

/// Most bytes of a file that is remembered, or copied when it is set aside.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most bytes that are remembered or copied for one command.
const MAX_BYTES: u64 = 16 << 20;
/// Longer names are replaced when a file must be renamed.
const MAX_NAME_BYTES: usize = 200;
/// Parts of a repository that are restored: those that make git run programs. The other files depend on each other, and
/// restoring half of them would be worse than none.
const OF_REPOSITORIES: &[&str] = &["hooks", "config", "info"];
const REPOSITORY: &str = ".git";
/// Mode of directories for files that are set aside.
const PRIVATE: u32 = 0o700;

/// Earlier state of a protected file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum EarlierState {
    File {
        #[serde(with = "content")]
        content: Vec<u8>,
        mode: RawMode,
    },
    Link(OsString),
    /// A directory; its content has entries of its own.
    Directory(RawMode),
}

/// Bytes that may still be remembered.
pub(super) struct UndoBudget(u64);

impl Default for UndoBudget {
    fn default() -> Self {
        Self(MAX_BYTES)
    }
}

impl UndoBudget {
    /// Remembers a file if it can be restored and is not too large.
    pub(super) fn keep(&mut self, directory: &OwnedFd, path: &Path, stat: &Stat) -> Option<EarlierState> {
        let name = path.file_name().filter(|_| is_restorable(path))?;
        match file_type(stat) {
            FileType::RegularFile => {
                let content = read(directory, name, MAX_FILE_BYTES.min(self.0))?;
                self.0 -= content.len() as u64;
                Some(EarlierState::File { content, mode: stat.st_mode & 0o7777 })
            }
            FileType::Symlink => Some(EarlierState::Link(read_link(directory, name)?)),
            // A repository is excluded, because most of its content would not be restored.
            FileType::Directory if !name.eq_ignore_ascii_case(REPOSITORY) => {
                Some(EarlierState::Directory(stat.st_mode & 0o7777))
            }
            _ => None,
        }
    }
}

/// Returns true if files at this path are restored.
fn is_restorable(path: &Path) -> bool {
    let mut names = path.iter();
    match names.find(|name| name.eq_ignore_ascii_case(REPOSITORY)) {
        None => true,
        Some(_) => names.next().is_none_or(|part| OF_REPOSITORIES.iter().any(|own| part == *own)),
    }
}

/// Restores files below a root.
pub(super) struct Undo<'a> {
    context: &'a ToolContext,
    /// Directory for files that are set aside, created when it is first needed.
    aside: Option<PathBuf>,
    /// True if it contains anything.
    is_used: bool,
    /// Files that had to stay near their old location, relative to the root.
    beside: Vec<PathBuf>,
    /// Bytes that may still be copied to another file system.
    room: u64,
}

impl<'a> Undo<'a> {
    pub(super) fn new(context: &'a ToolContext) -> Self {
        Self { context, aside: None, is_used: false, beside: Vec::new(), room: MAX_BYTES }
    }

    /// Returns the locations of the command's versions.
    pub(super) fn set_aside(self) -> Vec<PathBuf> {
        let aside = self.aside.filter(|aside| self.is_used || std::fs::remove_dir_all(aside).is_err());
        aside.into_iter().chain(self.beside).collect()
    }

    /// Restores a file. Returns false if it stays as the command left it.
    pub(super) fn undo(&mut self, path: &Path, change: FileChange, kept: Option<&EarlierState>) -> bool {
        if !is_restorable(path) || (change != FileChange::New && kept.is_none()) {
            return false;
        }
        self.try_undo(path, change, kept).unwrap_or(false)
    }

    fn try_undo(&mut self, path: &Path, change: FileChange, kept: Option<&EarlierState>) -> Option<bool> {
        let name = path.file_name()?;
        let directory = self.holder(path.parent()?)?;
        // If the command's version cannot be moved, it stays. Overwriting it could destroy something that the user
        // wrote while the command ran.
        if change != FileChange::Removed && !self.move_aside(&directory, path, name) {
            return Some(false);
        }
        let Some(kept) = kept else { return Some(true) };
        Some(restore(&directory, name, kept).is_ok())
    }

    /// Opens a directory below the root or creates it. No link is followed, because the command may have created one.
    fn holder(&self, below: &Path) -> Option<OwnedFd> {
        let flags = directory_flags();
        let mut directory = self.context.whole().ok()?.open_directory().ok()?;
        for name in below {
            let mode = Mode::from_raw_mode(0o777);
            let inner = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    // Created and then opened without following links. If a link takes the name in between, opening it
                    // fails, and nothing is restored through it.
                    rustix::fs::mkdirat(&directory, name, mode).ok()?;
                    rustix::fs::openat(&directory, name, flags, Mode::empty())
                }
                opened => opened,
            };
            directory = inner.ok()?;
        }
        Some(directory)
    }

    /// Moves the command's version away. Returns false if it stays.
    fn move_aside(&mut self, directory: &OwnedFd, path: &Path, name: &OsStr) -> bool {
        if let Some(aside) = self.aside_of(path)
            && (rustix::fs::renameat(directory, name, CWD, &aside).is_ok()
                || self.copy_away(directory, name, &aside).is_some())
        {
            self.is_used = true;
            return true;
        }
        // A rename on the same file system works for any size and type, so this is the fallback.
        self.move_beside(directory, path, name).is_some()
    }

    /// Returns the path at which a file is set aside. `None` if there is no directory for that.
    fn aside_of(&mut self, path: &Path) -> Option<PathBuf> {
        if self.aside.is_none() {
            let base = self.context.set_aside()?;
            create_private(base)?;
            let private = std::fs::Permissions::from_mode(PRIVATE);
            // A new directory per command, because two commands may set aside files of the same name.
            let made = tempfile::Builder::new().prefix("").permissions(private).tempdir_in(base);
            self.aside = Some(made.ok()?.keep());
        }
        let aside = self.aside.as_ref()?.join(path);
        create_private(aside.parent()?)?;
        Some(aside)
    }

    /// Copies a small file or a link to another file system, and removes the original.
    fn copy_away(&mut self, holder: &OwnedFd, name: &OsStr, to: &Path) -> Option<()> {
        let stat = rustix::fs::statat(holder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match file_type(&stat) {
            FileType::RegularFile => {
                let content = read(holder, name, MAX_FILE_BYTES.min(self.room))?;
                std::fs::write(to, &content).ok()?;
                self.room -= content.len() as u64;
            }
            FileType::Symlink => std::os::unix::fs::symlink(read_link(holder, name)?, to).ok()?,
            _ => return None,
        }
        rustix::fs::unlinkat(holder, name, AtFlags::empty()).ok()
    }

    /// Renames a file to an unprotected name outside the protected directory.
    fn move_beside(&mut self, directory: &OwnedFd, path: &Path, name: &OsStr) -> Option<()> {
        // A new name inside a protected directory would itself be a protected change, so the file moves above the
        // topmost one.
        let top = path.ancestors().filter(|above| self.context.protected_name(above).is_some()).last();
        let outside = top.and_then(Path::parent).unwrap_or(Path::new(""));
        let mut renamed = if name.len() > MAX_NAME_BYTES { OsString::from("file") } else { name.to_owned() };
        renamed.push(format!(".foreword-undone-{}", unique()));
        let target = self.holder(outside)?;
        rustix::fs::renameat(directory, name, &target, &renamed).ok()?;
        self.beside.push(outside.join(renamed));
        Some(())
    }
}

/// Creates directories that only this user can enter, whatever the umask is.
fn create_private(path: &Path) -> Option<()> {
    std::fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(path).ok()
}

/// Returns the state of a file as it is now. `None` if it is not a file that could be restored.
pub(super) fn current(context: &ToolContext, path: &Path) -> Option<EarlierState> {
    let directory = Undo::new(context).holder(path.parent()?)?;
    let stat = rustix::fs::statat(&directory, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    UndoBudget::default().keep(&directory, path, &stat)
}

/// Serialization of a file's content: as text if it is UTF-8, which nearly all protected files are.
mod content {
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(content: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(content) {
            Ok(text) => text.serialize(serializer),
            Err(_) => content.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Content::deserialize(deserializer)? {
            Content::Text(text) => text.into_bytes(),
            Content::Bytes(bytes) => bytes,
        })
    }
}

/// Returns a unique suffix.
pub(super) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{now:x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Creates a file in its earlier state.
fn restore(directory: &OwnedFd, name: &OsStr, kept: &EarlierState) -> std::io::Result<()> {
    match kept {
        EarlierState::Link(target) => Ok(rustix::fs::symlinkat(target, directory, name)?),
        EarlierState::Directory(mode) => {
            Ok(rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(*mode))?)
        }
        EarlierState::File { content, mode } => {
            // `EXCL` fails if anything has taken the name since the command's version was moved away. The mode is set
            // on the descriptor at the end, because the umask would reduce the mode given here.
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(opened);
            file.write_all(content)?;
            Ok(rustix::fs::fchmod(file.as_fd(), Mode::from_raw_mode(*mode))?)
        }
    }
}

/// Reads a regular file of at most `limit` bytes.
fn read(directory: &OwnedFd, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
    let opened = rustix::fs::openat(directory, name, read_flags(), Mode::empty()).ok()?;
    let file = File::from(opened);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    // One byte more than the limit shows that a file is too large even if it grew after its size was read.
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
    fn only_executable_parts_of_a_repository_are_restored() {
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
