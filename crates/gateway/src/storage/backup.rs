//! Backups of the embedded database, and how one becomes a data directory again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::blocking;
use protocol::{GATEWAY_ACTOR, Hint, Timestamp};
use store::{
    Database, RestoredTokens, Store, StoreError, check_sqlite, copy_backup, copy_sqlite, sqlite_files_beside,
};

use crate::access::owner::{self, OwnerError};
use crate::storage::data_directory::{DataDirectory, DataDirectoryError, OF_ANOTHER};
use crate::storage::database_file;
use crate::storage::known_databases::KnownDatabases;

/// Where a copy is made ready before it becomes the database.
const RESTORING_FILE: &str = "restoring.db";

/// Why a backup was not made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("there is no database at {}", path.display())]
    NoDatabase { path: PathBuf },
    #[error("{} is already there", path.display())]
    Exists { path: PathBuf },
    #[error("{} is a directory, and a backup is a file", path.display())]
    Directory { path: PathBuf },
    #[error("there is no directory {} for the backup", path.display())]
    NoDirectory { path: PathBuf },
    /// Nobody means to replace what a gateway is writing to.
    #[error("{} is a database in use", path.display())]
    InUse { path: PathBuf },
    #[error("{} already holds a database", path.display())]
    NotEmpty { path: PathBuf },
    /// A log or journal without its database; SQLite would take it for a part of what is put in its place.
    #[error("{} was left behind by another database", path.display())]
    LeftBehind { path: PathBuf },
    /// What is wrong with the file, a line each.
    #[error("{} cannot be restored: {}", path.display(), problems.join("; "))]
    Damaged { path: PathBuf, problems: Vec<String> },
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    #[error("could not make the owner's token: {0}")]
    Owner(#[from] OwnerError),
    #[error("could not {action} {}: {source}", path.display())]
    Database {
        action: &'static str,
        path: PathBuf,
        /// What the store said.
        source: StoreError,
    },
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Hint for BackupError {
    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        let hint = match self {
            BackupError::Directory { path } => {
                return Some(format!("name a file, such as {}", path.join("foreword.db").display()).into());
            }
            BackupError::NoDirectory { .. } => "make it first, or name another file",
            BackupError::Exists { .. } => "name another file, or overwrite this one with --force",
            BackupError::InUse { .. } => "name another file",
            BackupError::NotEmpty { .. } => {
                "move the database away, with its -wal and -shm files, or restore into another directory with --data"
            }
            BackupError::LeftBehind { .. } => {
                "move it to where its database is now, as it may hold the last changes, or delete it"
            }
            BackupError::DataDirectory(DataDirectoryError::OfAnother { .. }) => OF_ANOTHER,
            BackupError::DataDirectory(DataDirectoryError::Locked { .. }) => "stop the gateway first",
            BackupError::Damaged { .. } => "use an older backup",
            _ => return None,
        };
        Some(hint.into())
    }
}

/// What happens to a file that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refused,
    Overwritten,
}

/// Copies a database file as it is at one moment, while a gateway may write to it.
pub async fn back_up(database: &Path, to: &Path, existing: Existing) -> Result<(), BackupError> {
    let (from, place) = (database.to_owned(), to.to_owned());
    blocking(move || {
        match from.metadata() {
            Ok(metadata) if metadata.is_file() => {}
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(BackupError::Io { action: "read the database", path: from, source });
            }
            _ => return Err(BackupError::NoDatabase { path: from }),
        }
        if place.is_dir() {
            return Err(BackupError::Directory { path: place });
        }
        let directory = place.parent().filter(|directory| !directory.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Err(BackupError::NoDirectory { path: directory.to_owned() });
        }
        if existing == Existing::Refused && place.symlink_metadata().is_ok() {
            return Err(BackupError::Exists { path: place });
        }
        if database_file::resolve(&from) == database_file::resolve(&place) || database_file::is_in_use(&place)
        {
            return Err(BackupError::InUse { path: place });
        }
        check_nothing_beside(&place)
    })
    .await?;
    let mut beside = to.as_os_str().to_owned();
    // What a kill has left behind is in nobody's way.
    beside.push(format!(".{}-{}", std::process::id(), Timestamp::now().milliseconds()));
    let beside = PathBuf::from(beside);
    let finished = match copy_sqlite(database.to_owned(), beside.clone()).await {
        Ok(()) => rename(&beside, to).await,
        Err(source) => {
            Err(BackupError::Database { action: "write a backup to", path: to.to_owned(), source })
        }
    };
    if finished.is_err() {
        blocking(move || remove_database(&beside)).await;
    }
    finished
}

/// Puts a backup into a data directory that has no database: under a new instance id, with a new owner's token.
pub async fn restore(backup: &Path, data: &Path, tokens: RestoredTokens) -> Result<(), BackupError> {
    let unreadable =
        |source| BackupError::Database { action: "read the backup", path: backup.to_owned(), source };
    let path = backup.to_owned();
    if !blocking(move || path.is_file()).await {
        return Err(BackupError::NoDatabase { path: backup.to_owned() });
    }
    let problems = check_sqlite(backup.to_owned()).await.map_err(unreadable)?.problems;
    if !problems.is_empty() {
        return Err(BackupError::Damaged { path: backup.to_owned(), problems });
    }
    let path = data.to_owned();
    let ready = data.join(RESTORING_FILE);
    // The lock is held from here on, so that what an earlier restore has not finished is nobody's.
    let directory = blocking({
        let ready = ready.clone();
        move || {
            let directory = DataDirectory::lock(&path)?;
            let place = directory.database();
            if place.symlink_metadata().is_ok() {
                return Err(BackupError::NotEmpty { path });
            }
            check_nothing_beside(&place)?;
            remove_database(&ready);
            Ok(Arc::new(directory))
        }
    })
    .await?;
    let restored = prepare(backup, &ready, &directory, tokens).await;
    if restored.is_err() {
        blocking(move || remove_database(&ready)).await;
    }
    restored
}

async fn prepare(
    backup: &Path,
    ready: &Path,
    directory: &Arc<DataDirectory>,
    tokens: RestoredTokens,
) -> Result<(), BackupError> {
    let failed = |source| BackupError::Database { action: "restore into", path: ready.to_owned(), source };
    copy_backup(backup.to_owned(), ready.to_owned()).await.map_err(failed)?;
    let store = Store::open(&Database::Sqlite(ready.to_owned())).await.map_err(failed)?;
    let instance = store.become_restored(tokens, GATEWAY_ACTOR).await.map_err(failed)?;
    // The token first: a database that is in its place must never be without one that opens it.
    owner::renew(directory, &store).await?;
    store.close().await;
    let place = directory.database();
    rename(ready, &place).await?;
    let directory = Arc::clone(directory);
    let remembered = blocking(move || {
        KnownDatabases::read(directory.path()).remember(&directory, &Database::Sqlite(place), &instance)
    });
    Ok(remembered.await?)
}

/// Refuses a place where something would be taken for a part of the database that is put there.
fn check_nothing_beside(place: &Path) -> Result<(), BackupError> {
    let left = sqlite_files_beside(place).into_iter().find(|path| path.symlink_metadata().is_ok());
    left.map_or(Ok(()), |path| Err(BackupError::LeftBehind { path }))
}

async fn rename(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (from, to) = (from.to_owned(), to.to_owned());
    blocking(move || {
        // A log that its own connection did not fold into it would be left behind.
        check_nothing_beside(&from)?;
        let renamed = std::fs::rename(from, &to);
        renamed.map_err(|source| BackupError::Io { action: "write", path: to, source })
    })
    .await
}

/// Removes what is there of a database that nobody has opened.
fn remove_database(path: &Path) {
    for path in sqlite_files_beside(path).iter().map(PathBuf::as_path).chain([path]) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;

    use super::*;

    /// While a disk hangs, whoever shares the thread goes on: nothing of the disk is looked at by the first poll.
    #[test]
    fn the_disk_is_looked_at_beside_the_runtimes_threads() {
        let directory = tempfile::tempdir().unwrap();
        let (missing, to) = (directory.path().join("none.db"), directory.path().join("copy.db"));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
        runtime.unwrap().block_on(async {
            // The only thread for such work has other work.
            let (release, held) = std::sync::mpsc::channel::<()>();
            let holding = tokio::task::spawn_blocking(move || held.recv());
            let mut backing_up = pin!(back_up(&missing, &to, Existing::Refused));
            let mut restoring = pin!(restore(&missing, directory.path(), RestoredTokens::Kept));
            for _ in 0..3 {
                assert!(poll!(backing_up.as_mut()).is_pending());
                assert!(poll!(restoring.as_mut()).is_pending());
            }
            drop(release);
            assert!(holding.await.unwrap().is_err());
            assert!(matches!(backing_up.await, Err(BackupError::NoDatabase { .. })));
            assert!(matches!(restoring.await, Err(BackupError::NoDatabase { .. })));
        });
    }
}
