//! Backups of the embedded database, and how one becomes a data directory again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::blocking;
use protocol::Hint;
use store::{Database, RestoredTokens, Store, StoreError, check_sqlite, copy_sqlite};

use crate::data_directory::{DataDirectory, DataDirectoryError};
use crate::known_databases::KnownDatabases;
use crate::owner::{self, OwnerError};
use crate::private_file;
use crate::start::GATEWAY;

/// Where a copy is made ready before it becomes the database.
const RESTORING_FILE: &str = "restoring.db";

/// Why a backup was not made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("there is no database at {}", path.display())]
    NoDatabase { path: PathBuf },
    #[error("{} is already there", path.display())]
    Exists { path: PathBuf },
    #[error("{} already holds a database", path.display())]
    NotEmpty { path: PathBuf },
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
            BackupError::Exists { .. } => "name another file, or overwrite this one with --force",
            BackupError::NotEmpty { .. } => {
                "move the database away, or restore into another directory with --data"
            }
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
    if !database.is_file() {
        return Err(BackupError::NoDatabase { path: database.to_owned() });
    }
    if existing == Existing::Refused && to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { path: to.to_owned() });
    }
    let mut beside = to.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let copied = copy_sqlite(database.to_owned(), beside.clone()).await;
    let finished = copied
        .map_err(|source| BackupError::Database { action: "write a backup to", path: to.to_owned(), source })
        .and_then(|()| {
            let renamed = std::fs::rename(&beside, to);
            renamed.map_err(|source| BackupError::Io { action: "write", path: to.to_owned(), source })
        });
    if finished.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    finished
}

/// Puts a backup into a data directory that has no database: under a new instance id, with a new owner's token.
pub async fn restore(backup: &Path, data: &Path, tokens: RestoredTokens) -> Result<(), BackupError> {
    let unreadable =
        |source| BackupError::Database { action: "read the backup", path: backup.to_owned(), source };
    if !backup.is_file() {
        return Err(BackupError::NoDatabase { path: backup.to_owned() });
    }
    let problems = check_sqlite(backup.to_owned()).await.map_err(unreadable)?.problems;
    if !problems.is_empty() {
        return Err(BackupError::Damaged { path: backup.to_owned(), problems });
    }
    let path = data.to_owned();
    let directory = Arc::new(blocking(move || DataDirectory::lock(&path)).await?);
    let place = directory.database();
    if place.symlink_metadata().is_ok() {
        return Err(BackupError::NotEmpty { path: data.to_owned() });
    }
    let ready = data.join(RESTORING_FILE);
    let restored = prepare(backup, &ready, &place, &directory, tokens).await;
    if restored.is_err() {
        let _ = std::fs::remove_file(&ready);
    }
    restored
}

async fn prepare(
    backup: &Path,
    ready: &Path,
    place: &Path,
    directory: &Arc<DataDirectory>,
    tokens: RestoredTokens,
) -> Result<(), BackupError> {
    let failed = |source| BackupError::Database { action: "restore into", path: ready.to_owned(), source };
    let (from, to) = (backup.to_owned(), ready.to_owned());
    blocking(move || copy(&from, &to)).await.map_err(|source| BackupError::Io {
        action: "copy the backup to",
        path: ready.to_owned(),
        source,
    })?;
    let store = Store::open(&Database::Sqlite(ready.to_owned())).await.map_err(failed)?;
    let instance = store.become_restored(tokens, GATEWAY).await.map_err(failed)?;
    // The token first: a database that is in its place must never be without one that opens it.
    owner::renew(directory, &store).await?;
    store.close().await;
    std::fs::rename(ready, place).map_err(|source| BackupError::Io {
        action: "write",
        path: place.to_owned(),
        source,
    })?;
    let database = Database::Sqlite(place.to_owned());
    Ok(KnownDatabases::read(directory.path()).remember(directory, &database, &instance)?)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = private_file::open(to)?;
    copy.set_len(0)?;
    io::copy(&mut std::fs::File::open(from)?, &mut copy)?;
    copy.sync_all()
}
