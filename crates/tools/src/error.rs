//! What can go wrong with a file, in words that a model can act on.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

/// Why a tool could not do what was asked of a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{} is outside the workspace {}\nhint: use a path below it, and no link that leads out", path.display(), root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("{} does not exist\nhint: list_dir shows what is in a directory", path.display())]
    Absent { path: PathBuf },
    #[error("a part of {} is not a directory", path.display())]
    ThroughFile { path: PathBuf },
    #[error("{} is a {kind}, not a file{}", path.display(), if *kind == "directory" { "\nhint: list_dir lists directories" } else { "" })]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("{} is a {kind}, not a directory{}", path.display(), if *kind == "file" { "\nhint: read_file reads files" } else { "" })]
    NotADirectory { path: PathBuf, kind: &'static str },
    #[error("{} is not text: {kind}, {size} bytes", path.display())]
    Binary { path: PathBuf, kind: &'static str, size: u64 },
    #[error("{} has {size} bytes, more than the {limit} that can be edited", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{} was changed by somebody else meanwhile; nothing was written\nhint: read it again", path.display())]
    Changed { path: PathBuf },
    #[error("{} is read-only: nobody may write it", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{}: {reason}", path.display())]
    System { path: PathBuf, reason: String },
    #[error("`path` is {0}")]
    BadPath(&'static str),
    #[error("not done after {0:?}\nhint: ask for less: a smaller directory, a narrower glob")]
    TooSlow(Duration),
    #[error("there is no directory to use files in")]
    NoDirectory,
    #[error("cancelled")]
    Cancelled,
    #[error("{} leads elsewhere than when the call was allowed; nothing was written", path.display())]
    NotGranted { path: PathBuf },
    #[error("{0}")]
    Other(String),
}

impl FileError {
    pub(crate) fn of(errno: Errno, path: &Path) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::Absent { path },
            Errno::NOTDIR => Self::ThroughFile { path },
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Self::NotAFile { path, kind: "device" },
            errno => Self::System { path, reason: io::Error::from(errno).to_string() },
        }
    }

    pub(crate) fn io(error: &io::Error, path: &Path) -> Self {
        match error.raw_os_error() {
            Some(code) => Self::of(Errno::from_raw_os_error(code), path),
            None => Self::System { path: path.to_owned(), reason: error.to_string() },
        }
    }
}
