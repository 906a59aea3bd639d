//! Backup of the embedded database, and restore into an empty data directory.

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

/// Temporary name of a database that is being restored.
const RESTORING_FILE: &str = "restoring.db";

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
    /// The target is the database of a running gateway.
    #[error("{} is a database in use", path.display())]
    InUse { path: PathBuf },
    #[error("{} already holds a database", path.display())]
    NotEmpty { path: PathBuf },
    /// A write-ahead log or journal without its database. SQLite would replay it into the database that is put next to
    /// it.
    #[error("{} was left behind by another database", path.display())]
    LeftBehind { path: PathBuf },
    #[error("{} cannot be restored: {}", path.display(), problems.join("; "))]
    Damaged { path: PathBuf, problems: Vec<String> },
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    #[error("could not make the owner's token: {0}")]
    Owner(#[from] OwnerError),
    #[error("could not {action} {}: {source}", path.display())]
    Database { action: &'static str, path: PathBuf, source: StoreError },
    #[error("could not {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
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

/// Handling of a target file that already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refused,
    Overwritten,
}

/// Copies a database as of one moment, while a gateway may write to it.
pub async fn back_up(database: &Path, to: &Path, existing: Existing) -> Result<(), BackupError> {
    let from = database.to_owned();
    let place = to.to_owned();
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
    // The process id and time make the name unique, so that leftovers of a killed backup cannot collide with it.
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

/// Restores a backup into a data directory without a database, with a new instance id and a new owner's token.
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
    // The lock is held from here on, so leftovers of an interrupted restore cannot belong to a running process.
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
    // The token comes first: once the database is in place, a token that opens it must exist.
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

/// Rejects a target next to which SQLite would pick up a foreign log or journal.
fn check_nothing_beside(place: &Path) -> Result<(), BackupError> {
    let left = sqlite_files_beside(place).into_iter().find(|path| path.symlink_metadata().is_ok());
    left.map_or(Ok(()), |path| Err(BackupError::LeftBehind { path }))
}

async fn rename(from: &Path, to: &Path) -> Result<(), BackupError> {
    let from = from.to_owned();
    let to = to.to_owned();
    blocking(move || {
        // A log that was not folded into the database would be left behind by the rename, and its changes lost.
        check_nothing_beside(&from)?;
        let renamed = std::fs::rename(from, &to);
        renamed.map_err(|source| BackupError::Io { action: "write", path: to, source })
    })
    .await
}

/// Removes the files of a database that is not open.
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

    /// While a disk hangs, other tasks on the runtime must keep running: the first poll must not touch the disk.
    #[test]
    fn disk_access_happens_on_blocking_threads() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.db");
        let to = directory.path().join("copy.db");
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
        runtime.unwrap().block_on(async {
            // Occupies the only blocking thread, so that disk access cannot happen until it is released.
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
