//! Errors of file tools, worded so that a model can act on them.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::Hint;
use rustix::io::Errno;

use crate::files::text_replacement::ReplaceError;

/// Error of a file tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{} is outside the workspace {}", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} is among what the gateway keeps in {}, which is out of reach of every tool", path.display(), hidden.display())]
    Hidden { path: PathBuf, hidden: PathBuf },
    #[error("{} does not exist", path.display())]
    Absent { path: PathBuf },
    #[error("a part of {} is not a directory", path.display())]
    ThroughFile { path: PathBuf },
    #[error("{} is a {kind}, not a file", path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("{} is a {kind}, not a directory", path.display())]
    NotADirectory { path: PathBuf, kind: &'static str },
    #[error("{} is not text: {kind}, {size} bytes", path.display())]
    Binary { path: PathBuf, kind: &'static str, size: u64 },
    #[error("{} has {size} bytes, more than the {limit} that can be edited", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{} was changed by somebody else meanwhile; nothing was written", path.display())]
    Changed { path: PathBuf },
    #[error("{} is read-only: nobody may write it", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
    #[error("`path` is {0}")]
    BadPath(&'static str),
    #[error("not done after {0:?}")]
    TooSlow(Duration),
    #[error("this turn has no directory, so no file can be used")]
    NoDirectory,
    /// The root's path no longer leads to the directory that was opened when the turn began.
    #[error("{} was moved, removed or replaced since this turn began, so no file in it can be used", root.display())]
    RootMoved { root: PathBuf },
    #[error("cancelled")]
    Cancelled,
    #[error("{} leads elsewhere than when the call was allowed; nothing was written", path.display())]
    NotGranted { path: PathBuf },
    #[error("{} was not changed: {source}", path.display())]
    NotReplaced { path: PathBuf, source: ReplaceError },
    #[error("`pattern` cannot be used: {}", .0.to_string().trim_end())]
    Pattern(#[source] grep_regex::Error),
    #[error("`glob` cannot be used: {0}")]
    Glob(#[source] ignore::Error),
    #[error("the command could not be run: {0}")]
    NotRun(#[source] io::Error),
    #[error("{0}")]
    Other(String),
}

impl Hint for FileError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::RootMoved { .. } => "tell the user; the next turn works with what is there then",
            Self::Outside { .. } => "use a path below it, and no link that leads out",
            Self::Hidden { .. } => "do without it, or ask the user",
            Self::Absent { .. } | Self::ThroughFile { .. } => "list_dir shows what is in a directory",
            Self::NotAFile { kind: "directory", .. } => "list_dir lists directories",
            Self::NotADirectory { kind: "file", .. } => "read_file reads files",
            Self::TooLarge { .. } => "tell the user what to change in it",
            Self::Changed { .. } => "read it again, then make the edit anew",
            Self::ReadOnly { .. } => "ask the user to make it writable, if it should be changed",
            Self::NotGranted { .. } => "look where it leads now, then make the call again",
            Self::TooSlow(_) => "ask for less: a smaller directory, a narrower glob",
            Self::NotReplaced { source, .. } => return source.hint(),
            Self::Pattern(_) => {
                "it is matched against single lines; to search for a text as it is, put `\\` before each of \
                 .+*?()|[]{}^$\\"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }
}

impl FileError {
    pub(crate) fn of(errno: Errno, path: &Path) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Absent { path },
            Errno::NOTDIR => Self::ThroughFile { path },
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile { path, kind: "device" },
            errno => Self::System { path, source: errno.into() },
        }
    }

    pub(crate) fn io(error: io::Error, path: &Path) -> Self {
        match error.raw_os_error() {
            Some(code) => Self::of(Errno::from_raw_os_error(code), path),
            None => Self::System { path: path.to_owned(), source: error },
        }
    }
}
