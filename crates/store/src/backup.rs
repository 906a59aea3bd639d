//! Copies of an SQLite file: made while the file is in use, and checked before they are restored.

use std::fs::File;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use protocol::InstanceId;
use rusqlite::{Connection, OpenFlags};

use crate::connection::Tx;
use crate::database_id;
use crate::engine::sqlite::{BUSY_TIME, connect, make_private_file};
use crate::migrations;
use crate::tokens;
use crate::{Store, StoreError};

/// Treatment of the access tokens in a restored copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredTokens {
    /// Every token is revoked, and users need new ones.
    Revoked,
    Kept,
}

/// Copies a database in its current state into a new file that only this user can read. Others may write to the
/// database meanwhile.
pub fn copy_sqlite(from: PathBuf, to: PathBuf) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(run_blocking(move || copy_into(&connect(&from, OpenFlags::empty())?, &to)))
}

/// Copies a backup into a new file that only this user can read, including the contents of its write-ahead log.
// Opened read-only: a connection that may write would merge the log into the backup when it is closed.
pub fn copy_backup(from: PathBuf, to: PathBuf) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(run_blocking(move || copy_into(&connect_read_only(&from)?, &to)))
}

fn copy_into(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let name = to.to_str().ok_or_else(|| StoreError::InvalidValue {
        field: "file",
        reason: format!("is `{}`, and SQLite takes no name that is not UTF-8", to.display()),
    })?;
    // SQLite accepts an existing empty file and keeps its mode, so the mode is set before anything is written.
    make_private_file(to)?;
    // VACUUM INTO reads one snapshot, and writes a compact file without pages that were deleted.
    connection.execute("VACUUM INTO ?1", [name])?;
    // SQLite does not sync the result. A backup that a power failure destroys is discovered when it is needed.
    File::open(to).and_then(|file| file.sync_all()).map_err(StoreError::unavailable)
}

/// Returns the files that SQLite may have made beside a database.
// They must be removed with the database: SQLite applies a leftover log to whichever file has the database's name.
pub fn sqlite_files_beside(database: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

/// The result of checking an SQLite file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqliteReport {
    /// Damage that SQLite finds, or a schema that this version does not know.
    pub problems: Vec<String>,
    /// Number of migrations that the database has not had.
    pub missing_migrations: usize,
}

/// Checks a file without changing it.
pub fn check_sqlite(path: PathBuf) -> BoxFuture<'static, Result<SqliteReport, StoreError>> {
    Box::pin(run_blocking(move || check(&path)))
}

async fn run_blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(job).await.map_err(StoreError::unavailable)?
}

fn connect_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIME)?;
    Ok(connection)
}

fn check(path: &Path) -> Result<SqliteReport, StoreError> {
    let connection = connect_read_only(path)?;
    let mut found: Vec<String> = connection
        .prepare("PRAGMA integrity_check(20)")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    // SQLite reports a sound file with the single row `ok`.
    found.retain(|line| line != "ok");
    // integrity_check does not include foreign keys.
    if connection.prepare("PRAGMA foreign_key_check")?.exists([])? {
        found.push("rows name others that are not there".to_owned());
    }
    let tables = "SELECT 1 FROM sqlite_schema WHERE name = 'seaql_migrations'";
    if !connection.prepare(tables)?.exists([])? {
        found.push("it is no database of foreword".to_owned());
        return Ok(SqliteReport { problems: found, missing_migrations: 0 });
    }
    let applied: Vec<String> = connection
        .prepare("SELECT version FROM seaql_migrations")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if let Some(unknown) = applied.iter().find(|name| !migrations::is_known(name)) {
        found.push(format!("its schema is of a newer version of foreword ({unknown})"));
    }
    Ok(SqliteReport { problems: found, missing_migrations: migrations::count_missing(&applied) })
}

impl Store {
    /// Gives a restored copy a new database id, so that clients notice, and revokes its tokens in the name of `actor`.
    pub fn become_restored<'a>(
        &'a self,
        tokens: RestoredTokens,
        actor: &'a str,
    ) -> BoxFuture<'a, Result<InstanceId, StoreError>> {
        let actor = actor.to_owned();
        Box::pin(self.write(async move |tx: &mut Tx<'_>| {
            if tokens == RestoredTokens::Revoked {
                tokens::revoke_all(tx, &actor).await?;
            }
            database_id::renew(tx).await
        }))
    }
}
