//! The embedded database as a file: one gateway at a time, wherever that gateway's data directory is.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::private_file;

/// A database file that this process has locked.
#[derive(Debug)]
pub(crate) struct LockedDatabase {
    /// Held, never read: closing it gives the lock back, and so does the end of the process, however it ends.
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseFileError {
    /// Another gateway uses the file.
    #[error("another gateway uses the database {}", path.display())]
    InUse { path: PathBuf },
    /// The data directory remembers a database that is not there.
    #[error("the database {database} is gone: it was used from {} before, and is missing or empty now", data.display())]
    Missing { database: String, data: PathBuf },
    /// The data directory remembers another database in this place.
    #[error("the database {database} is another one than the one that {} was used with", data.display())]
    Replaced { database: String, data: PathBuf },
    #[error("could not lock {}: {source}", path.display())]
    Lock {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LockedDatabase {
    /// Locks a file that need not be there yet.
    ///
    /// The lock is a file beside it: SQLite has locks of its own on the database, which this process would give back
    /// by closing any other handle of that file.
    pub(crate) fn lock(path: &Path) -> Result<Self, DatabaseFileError> {
        let path = resolve(path);
        let mut lock_path = path.clone().into_os_string();
        lock_path.push(".lock");
        let lock_path = PathBuf::from(lock_path);
        let failed = |source| DatabaseFileError::Lock { path: lock_path.clone(), source };
        let lock = private_file::open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DatabaseFileError::InUse { path }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// The one name of a file that several links may lead to.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (absolute.parent().and_then(|parent| parent.canonicalize().ok()), absolute.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => absolute,
    }
}
