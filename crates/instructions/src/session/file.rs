//! A session kept in a file: locked while it is used, replaced in one step.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::session::{SCHEMA, Session};

/// Largest session file that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Most links followed to a session file.
const MAX_LINKS: usize = 40;

/// Why a session file cannot be used. The file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum SessionFileError {
    /// The system refused.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a session.
    #[error("{} is not a session file: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is of another version of the format.
    #[error("{} has the format {found}, this version knows {SCHEMA}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
}

/// A session file that this process has locked.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    _lock: Lock,
}

impl SessionFile {
    /// Locks a session file, waiting for whoever has it.
    pub fn lock(path: &Path) -> Result<Self, SessionFileError> {
        loop {
            let (lock, lock_path) = Self::open(path)?;
            lock.lock().map_err(|source| unlocked(&lock_path, source))?;
            if let Some(lock) = Lock::taken(lock, lock_path) {
                return Ok(Self { path: target(path), _lock: lock });
            }
        }
    }

    /// Locks a session file; none when somebody else has it.
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

    /// Where the lock of a session file is: beside it, because the file itself is replaced by every write.
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

    /// The session; none when there is no file yet.
    pub fn read(&self) -> Result<Option<Session>, SessionFileError> {
        Self::peek(&self.path)
    }

    /// The session in a file that somebody else may be about to replace; none when there is no file.
    pub fn peek(path: &Path) -> Result<Option<Session>, SessionFileError> {
        let failed = |source| SessionFileError::Io { action: "read", path: path.to_owned(), source };
        let malformed = |reason| SessionFileError::Malformed { path: path.to_owned(), reason };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            // Opening a pipe would wait for ever.
            Ok(_) => return Err(malformed("it is not a regular file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(source)),
        }
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
        parse(&bytes).map(Some).map_err(|error| match error {
            ParseError::Schema(found) => SessionFileError::Schema { path: path.to_owned(), found },
            ParseError::Malformed(reason) => malformed(reason),
        })
    }

    /// Replaces the session in one step.
    pub fn write(&self, session: &Session) -> Result<(), SessionFileError> {
        self.prepare(session)?.commit()
    }

    /// Writes the session beside the file, so that nothing but [`PreparedSession::commit`] is left to do.
    pub fn prepare(&self, session: &Session) -> Result<PreparedSession<'_>, SessionFileError> {
        let mut temporary = self.path.as_os_str().to_owned();
        temporary.push(format!(".{}", std::process::id()));
        let prepared = PreparedSession { file: self, temporary: PathBuf::from(temporary) };
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

/// A lock that is held, and the file that it is of, which goes with it.
#[derive(Debug)]
struct Lock {
    /// Held, never read: closing it gives the lock back.
    file: File,
    path: PathBuf,
}

impl Lock {
    /// The lock, if its file is still the one that others would find: whoever had it before may have taken the file away
    /// while we waited, and then somebody else has another.
    fn taken(file: File, path: PathBuf) -> Option<Self> {
        let is_current = is_same(&file, fs::metadata(&path));
        is_current.then_some(Self { file, path })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only where it can be told afterwards that the file is another. While we have the lock the file is ours, unless
        // somebody's link leads to it.
        if cfg!(unix) && is_same(&self.file, fs::symlink_metadata(&self.path)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether an open file is the one that was found.
#[cfg(unix)]
fn is_same(file: &File, found: io::Result<fs::Metadata>) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|file| (file.dev(), file.ino()));
    let found = id(found);
    found.is_some() && found == id(file.metadata())
}

/// Nobody takes such a file away.
#[cfg(not(unix))]
fn is_same(_: &File, _: io::Result<fs::Metadata>) -> bool {
    true
}

/// A session quotes instruction files, so what is made for it is for this user alone.
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

/// Where a session really is: a link stays a link, and all its names have one lock.
fn target(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

/// A session that is safely on disk but does not hold yet; dropped, it never will.
#[derive(Debug)]
#[must_use = "what is not committed is forgotten"]
pub struct PreparedSession<'a> {
    file: &'a SessionFile,
    temporary: PathBuf,
}

impl PreparedSession<'_> {
    /// Puts it in the place of the present one.
    pub fn commit(self) -> Result<(), SessionFileError> {
        fs::rename(&self.temporary, &self.file.path).map_err(|source| self.file.unwritten(source))
    }
}

impl Drop for PreparedSession<'_> {
    fn drop(&mut self) {
        // After a commit there is nothing left to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Why a text is not a session.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It is of another version of the format.
    #[error("it has the format {0}, this version knows {SCHEMA}")]
    Schema(u64),
    /// It is no session at all.
    #[error("{0}")]
    Malformed(String),
}

/// Reads a session's text.
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
