//! Copies of an SQLite file: made while it is in use, checked before one is believed.

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

/// What happens to the access tokens of a copy that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredTokens {
    /// Whoever had one must be given another.
    Revoked,
    Kept,
}

/// Copies a database as it is at one moment into a new file for this user alone. Others may write to it meanwhile.
pub fn copy_sqlite(from: PathBuf, to: PathBuf) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(run_blocking(move || copy_into(&connect(&from, OpenFlags::empty())?, &to)))
}

/// Copies a backup into a new file for this user alone, with what is still in the write-ahead log beside it. The backup
/// is only read: closing a connection that writes would fold that log into it.
pub fn copy_backup(from: PathBuf, to: PathBuf) -> BoxFuture<'static, Result<(), StoreError>> {
    Box::pin(run_blocking(move || copy_into(&connect_read_only(&from)?, &to)))
}

fn copy_into(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let name = to.to_str().ok_or_else(|| StoreError::InvalidValue {
        field: "file",
        reason: format!("is `{}`, and SQLite takes no name that is not UTF-8", to.display()),
    })?;
    // SQLite writes into an empty file, and leaves its mode as it is.
    make_private_file(to)?;
    connection.execute("VACUUM INTO ?1", [name])?;
    File::open(to).and_then(|file| file.sync_all()).map_err(StoreError::unavailable)
}

/// The files that SQLite may have made beside a database, and reads as part of whatever is in its place.
pub fn sqlite_files_beside(database: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    })
}

/// What is found in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqliteReport {
    /// What is wrong: damage that SQLite finds, or a schema that this version does not know.
    pub problems: Vec<String>,
    /// How many migrations it has not had.
    pub missing_migrations: usize,
}

/// Looks at a file. Nothing in it is changed.
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
    found.retain(|line| line != "ok");
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
    /// Makes a copy another database, so that clients notice, and revokes its tokens in the name of `actor`.
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
