//! Session files: locked while in use, replaced atomically.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::session::{SCHEMA, Session};

/// Largest session file that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Most symbolic links followed to a session file.
const MAX_LINKS: usize = 40;

/// Reason why a session file cannot be used. The file is not modified.
#[derive(Debug, thiserror::Error)]
pub enum SessionFileError {
    /// An operation of the file system failed.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// Failed operation.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a session.
    #[error("{} is not a session file: {reason}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Reason for the rejection.
        reason: String,
    },
    /// The file has another version of the format.
    #[error("{} has the format {found}, this version knows {SCHEMA}", path.display())]
    Schema {
        /// Path of the file.
        path: PathBuf,
        /// Version of its format.
        found: u64,
    },
}

/// A session file locked by this process.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    _lock: Lock,
}

impl SessionFile {
    /// Locks a session file, and waits if another process holds the lock.
    pub fn lock(path: &Path) -> Result<Self, SessionFileError> {
        loop {
            let (lock, lock_path) = Self::open(path)?;
            lock.lock().map_err(|source| unlocked(&lock_path, source))?;
            if let Some(lock) = Lock::taken(lock, lock_path) {
                return Ok(Self { path: target(path), _lock: lock });
            }
        }
    }

    /// Locks a session file, or returns `None` if another process holds the lock.
    pub fn try_lock(path: &Path) -> Result<Option<Self>, SessionFileError> {
        loop {
            let (lock, lock_path) = Self::open(path)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(unlocked(&lock_path, source)),
            }
            if let Some(lock) = Lock::taken(lock, lock_path) {
                return Ok(Some(Self { path: target(path), _lock: lock }));
            }
        }
    }

    /// Returns the path of a session file's lock. It is a separate file because every write replaces the
    /// session file itself.
    pub fn lock_path(path: &Path) -> PathBuf {
        let mut beside = target(path).into_os_string();
        beside.push(".lock");
        PathBuf::from(beside)
    }

    fn open(path: &Path) -> Result<(File, PathBuf), SessionFileError> {
        let lock_path = Self::lock_path(path);
        match private_file().create(true).truncate(false).open(&lock_path) {
            Ok(lock) => Ok((lock, lock_path)),
            Err(source) => Err(unlocked(&lock_path, source)),
        }
    }

    /// Reads the session, or returns `None` if the file does not exist.
    pub fn read(&self) -> Result<Option<Session>, SessionFileError> {
        Self::peek(&self.path)
    }

    /// Reads a session file without locking it, or returns `None` if it does not exist.
    pub fn peek(path: &Path) -> Result<Option<Session>, SessionFileError> {
        let failed = |source| SessionFileError::Io { action: "read", path: path.to_owned(), source };
        let malformed = |reason| SessionFileError::Malformed { path: path.to_owned(), reason };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            // Opening a pipe would block until something writes to it.
            Ok(_) => return Err(malformed("it is not a regular file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(source)),
        }
        let mut bytes = Vec::new();
        // The limit protects from a file that was put in the place of the session. A real one of this size would not be
        // usable anyway; its JSON is cut here and rejected below.
        File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
        parse(&bytes).map(Some).map_err(|error| match error {
            ParseError::Schema(found) => SessionFileError::Schema { path: path.to_owned(), found },
            ParseError::Malformed(reason) => malformed(reason),
        })
    }

    /// Replaces the session atomically.
    pub fn write(&self, session: &Session) -> Result<(), SessionFileError> {
        self.prepare(session)?.commit()
    }

    /// Writes the session to a temporary file, so that only [`PendingSessionWrite::commit`] can follow.
    // Split from the commit so that a caller can write first, then send the reminder, and replace the file
    // only if that succeeded.
    pub fn prepare(&self, session: &Session) -> Result<PendingSessionWrite<'_>, SessionFileError> {
        // The temporary file is beside the session, because a rename is atomic only within one file system. The process
        // id in its name keeps a leftover of another process from being mistaken for ours.
        let mut temporary = self.path.as_os_str().to_owned();
        temporary.push(format!(".{}", std::process::id()));
        let prepared = PendingSessionWrite { file: self, temporary: PathBuf::from(temporary) };
        let written =
            private_file().create(true).truncate(true).open(&prepared.temporary).and_then(|mut file| {
                file.write_all(&serde_json::to_vec_pretty(session)?)?;
                file.write_all(b"\n")?;
                file.sync_all()
            });
        written.map_err(|source| self.unwritten(source))?;
        Ok(prepared)
    }

    fn unwritten(&self, source: io::Error) -> SessionFileError {
        SessionFileError::Io { action: "write", path: self.path.clone(), source }
    }
}

/// A held lock and its file, which is removed with it.
#[derive(Debug)]
struct Lock {
    /// Holds the lock until it is closed.
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Returns the lock, or `None` if its file was removed while waiting.
    // The previous owner removes the lock file when it is done. A process that waited on the removed file then holds a
    // lock that no other process can see, and has to start again with the new file.
    fn taken(file: File, path: PathBuf) -> Option<Self> {
        let is_current = is_same(&file, fs::metadata(&path));
        is_current.then_some(Self { file, path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only on systems where another process can detect the removal. The check keeps a foreign file from
        // being removed that was linked in the lock's place.
        if cfg!(unix) && is_same(&self.file, fs::symlink_metadata(&self.path)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns true if an open file is the one found at a path.
#[cfg(unix)]
fn is_same(file: &File, found: io::Result<fs::Metadata>) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|file| (file.dev(), file.ino()));
    let found = id(found);
    found.is_some() && found == id(file.metadata())
}

/// Lock files are never removed on these systems.
#[cfg(not(unix))]
fn is_same(_: &File, _: io::Result<fs::Metadata>) -> bool {
    true
}

/// Returns options for files that only this user can read, because a session quotes instruction files.
fn private_file() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn unlocked(path: &Path, source: io::Error) -> SessionFileError {
    SessionFileError::Io { action: "lock", path: path.to_owned(), source }
}

/// Resolves symbolic links, so that all names of a session share one lock and links survive a write.
fn target(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    // The limit ends a circle of links. The operation that follows then fails with the error of the system.
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

/// A session written to disk but not committed. It is discarded on drop.
#[derive(Debug)]
#[must_use = "what is not committed is forgotten"]
pub struct PendingSessionWrite<'a> {
    file: &'a SessionFile,
    temporary: PathBuf,
}

impl PendingSessionWrite<'_> {
    /// Replaces the session file.
    pub fn commit(self) -> Result<(), SessionFileError> {
        fs::rename(&self.temporary, &self.file.path).map_err(|source| self.file.unwritten(source))
    }
}

impl Drop for PendingSessionWrite<'_> {
    fn drop(&mut self) {
        // After a commit there is no temporary file left, and the removal fails silently.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Reason why a text is not a session.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It has another version of the format.
    #[error("it has the format {0}, this version knows {SCHEMA}")]
    Schema(u64),
    /// It is not a session.
    #[error("{0}")]
    Malformed(String),
}

/// Parses a session.
// The version is read first and alone: with another format the rest may have any shape, and the error should
// name the version and not a missing field.
pub fn parse(text: &[u8]) -> Result<Session, ParseError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: u64,
    }
    let malformed = |error: serde_json::Error| ParseError::Malformed(error.to_string());
    let Version { schema } = serde_json::from_slice(text).map_err(malformed)?;
    if schema != u64::from(SCHEMA) {
        return Err(ParseError::Schema(schema));
    }
    serde_json::from_slice(text).map_err(malformed)
}
