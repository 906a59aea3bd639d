//! Lock on the embedded database's file: one gateway at a time, regardless of its data directory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::storage::private_file;

#[derive(Debug)]
pub(crate) struct LockedDatabase {
    /// Held but never read; closing it releases the lock, and so does the end of the process.
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseFileError {
    #[error("another gateway uses the database {}", path.display())]
    InUse { path: PathBuf },
    /// The file has several hard links, and another gateway could open it under another name.
    #[error("the database {} has {links} names", path.display())]
    Linked { path: PathBuf, links: u64 },
    /// The data directory was used with a database that no longer exists.
    #[error("the database {database} is gone: it was used from {} before, and is missing or empty now", data.display())]
    Missing { database: String, data: PathBuf },
    /// The data directory was used with another database of the same name.
    #[error("the database {database} is another one than the one that {} was used with", data.display())]
    Replaced { database: String, data: PathBuf },
    #[error("could not lock {}: {source}", path.display())]
    Lock { path: PathBuf, source: io::Error },
}

impl LockedDatabase {
    /// Locks a database file, which need not exist yet.
    ///
    /// The lock is a separate file. SQLite holds POSIX locks on the database itself, and closing any other handle of
    /// that file in this process would release them.
    pub(crate) fn lock(path: &Path) -> Result<Self, DatabaseFileError> {
        let path = resolve(path);
        let lock_path = lock_path(&path);
        let failed = |source| DatabaseFileError::Lock { path: lock_path.clone(), source };
        let lock = private_file::open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            // Under another name the database would have another lock file and, worse, another write-ahead log: SQLite
            // derives both from the name, and two logs corrupt the database.
            Ok(()) => match links(&path) {
                0 | 1 => Ok(Self { _lock: lock }),
                links => Err(DatabaseFileError::Linked { path, links }),
            },
            Err(TryLockError::WouldBlock) => Err(DatabaseFileError::InUse { path }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Returns true if a gateway uses the database. Creates no lock file next to a database that has none.
pub(crate) fn is_in_use(path: &Path) -> bool {
    lock_path(&resolve(path)).exists()
        && matches!(LockedDatabase::lock(path), Err(DatabaseFileError::InUse { .. }))
}

fn lock_path(path: &Path) -> PathBuf {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    lock_path.into()
}

#[cfg(unix)]
fn links(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| std::os::unix::fs::MetadataExt::nlink(&metadata))
}

#[cfg(not(unix))]
fn links(_: &Path) -> u64 {
    1
}

/// Returns the canonical path, so that all links to a file share one lock.
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
        let one = directory.path().join("foreword.db");
        let two = directory.path().join("hard.db");
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
