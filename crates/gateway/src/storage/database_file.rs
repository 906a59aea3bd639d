//! The embedded database as a file: one gateway at a time, wherever that gateway's data directory is.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::storage::private_file;

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
    /// The file has other names, under which another gateway could open it.
    #[error("the database {} has {links} names", path.display())]
    Linked {
        path: PathBuf,
        /// How many hard links lead to it.
        links: u64,
    },
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
        let lock_path = lock_path(&path);
        let failed = |source| DatabaseFileError::Lock { path: lock_path.clone(), source };
        let lock = private_file::open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            // Under another name it would have another lock, and what is worse, another log: SQLite names both after it.
            Ok(()) => match links(&path) {
                0 | 1 => Ok(Self { _lock: lock }),
                links => Err(DatabaseFileError::Linked { path, links }),
            },
            Err(TryLockError::WouldBlock) => Err(DatabaseFileError::InUse { path }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Whether a gateway uses a database file. Nothing is made beside one that none has used.
pub(crate) fn is_in_use(path: &Path) -> bool {
    lock_path(&resolve(path)).exists()
        && matches!(LockedDatabase::lock(path), Err(DatabaseFileError::InUse { .. }))
}

fn lock_path(path: &Path) -> PathBuf {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    lock_path.into()
}

/// How many names a file has.
#[cfg(unix)]
fn links(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| std::os::unix::fs::MetadataExt::nlink(&metadata))
}

#[cfg(not(unix))]
fn links(_: &Path) -> u64 {
    1
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_database_with_two_names_is_refused_under_both() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("foreword.db"), directory.path().join("hard.db"));
        std::fs::write(&one, "a database").unwrap();
        drop(LockedDatabase::lock(&one).unwrap());
        std::fs::hard_link(&one, &two).unwrap();
        for path in [&one, &two] {
            let locked = LockedDatabase::lock(path);
            assert!(matches!(locked, Err(DatabaseFileError::Linked { links: 2, .. })), "{locked:?}");
        }
        std::fs::remove_file(&two).unwrap();
        LockedDatabase::lock(&one).unwrap();
        LockedDatabase::lock(&directory.path().join("new.db")).unwrap();
    }
}
