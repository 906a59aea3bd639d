//! Which database, how it is opened, and the handle everything else goes through.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::sqlx;
use sea_orm::sqlx::Connection as _;
use sea_orm::sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sea_orm::{
    AccessMode, DatabaseConnection, DatabaseTransaction, DbBackend, IsolationLevel, SqliteTransactionMode,
    SqlxPostgresConnector, SqlxSqliteConnector, TransactionOptions, TransactionTrait,
};
use sea_orm_migration::MigratorTrait;
use tokio::sync::broadcast;

use crate::change::Wake;
use crate::migration::Migrator;
use crate::{StoreError, listener};

/// Readers of an SQLite database; each is a thread.
const SQLITE_READERS: u32 = 4;
/// Connections to PostgreSQL, readers and writers together.
const POSTGRES_CONNECTIONS: u32 = 16;
/// How long a request waits for a connection before the database counts as unavailable.
const ACQUIRE_TIME: Duration = Duration::from_secs(5);
/// A PostgreSQL connection that was idle for longer is tried before it is used.
const TRUSTED_IDLE_TIME: Duration = Duration::from_millis(500);
/// Wakes a slow receiver may miss before it is told to look at everything.
const WAKES: usize = 1024;
/// Serialises migrations of gateways that start at the same time on one PostgreSQL.
const MIGRATION_LOCK: i64 = 0x666f_7265_776f_7264;

/// Where the data is.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL server, as a `postgres://` address.
    Postgres(String),
}

/// A database address that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a database address; expected postgres://USER@HOST/NAME or sqlite://PATH")]
pub struct InvalidDatabase(String);

impl FromStr for Database {
    type Err = InvalidDatabase;

    fn from_str(address: &str) -> Result<Self, InvalidDatabase> {
        let invalid = || InvalidDatabase(without_password(address));
        if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            PgConnectOptions::from_str(address).map_err(|_| invalid())?;
            return Ok(Database::Postgres(address.to_owned()));
        }
        let path = address.strip_prefix("sqlite://").or_else(|| address.strip_prefix("sqlite:"));
        match path {
            Some(path) if !path.is_empty() => Ok(Database::Sqlite(PathBuf::from(path))),
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Database::Sqlite(path) => write!(formatter, "sqlite://{}", path.display()),
            Database::Postgres(address) => formatter.write_str(&without_password(address)),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// The address with the password between `user:` and `@` left out.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let shown = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    format!("{scheme}://{shown}{path}")
}

/// A database that is open. Clones share its connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    readers: DatabaseConnection,
    writer: DatabaseConnection,
    wakes: broadcast::Sender<Wake>,
    file: Option<OpenedFile>,
    listener: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

impl Store {
    /// Opens a database, makes an SQLite file when there is none, and brings the schema up to date.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        let (wakes, _) = broadcast::channel(WAKES);
        match database {
            Database::Sqlite(path) => Self::open_sqlite(path, wakes).await,
            Database::Postgres(address) => Self::open_postgres(address, wakes).await,
        }
    }

    async fn open_sqlite(path: &Path, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(ACQUIRE_TIME);
        // One writer, so that SQLite never has two to refuse one of them.
        let writer = sqlite_pool(1).connect_with(options.clone()).await?;
        let writer = SqlxSqliteConnector::from_sqlx_sqlite_pool(writer);
        migrate(&writer).await?;
        // The file is there now. A reader that opens later must not put an empty one in its place when it was moved
        // away, and read that one, with the other's write-ahead log, ever after.
        let options = options.create_if_missing(false).pragma("query_only", "true");
        let readers = sqlite_pool(SQLITE_READERS).connect_with(options).await?;
        let readers = SqlxSqliteConnector::from_sqlx_sqlite_pool(readers);
        let file = OpenedFile::remember(path);
        Ok(Self { inner: Arc::new(Inner { readers, writer, wakes, file, listener: None }) })
    }

    async fn open_postgres(address: &str, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(address)?.application_name("foreword");
        let pool = PgPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIME)
            .test_before_acquire(false)
            .before_acquire(|connection, idle| {
                Box::pin(async move {
                    if idle.idle_for > TRUSTED_IDLE_TIME {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options.clone())
            .await?;
        let mut lock = pool.acquire().await?;
        sqlx::query("SELECT pg_advisory_lock($1)").bind(MIGRATION_LOCK).execute(&mut *lock).await?;
        let connection = SqlxPostgresConnector::from_sqlx_postgres_pool(pool.clone());
        let migrated = migrate(&connection).await;
        sqlx::query("SELECT pg_advisory_unlock($1)").bind(MIGRATION_LOCK).execute(&mut *lock).await?;
        drop(lock);
        migrated?;
        let listener = tokio::spawn(listener::listen(pool, wakes.clone()));
        let inner = Inner {
            readers: connection.clone(),
            writer: connection,
            wakes,
            file: None,
            listener: Some(listener),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.check_file()?;
        Ok(self.inner.readers.ping().await?)
    }

    /// Closes every connection; an SQLite file is left without a write-ahead log.
    pub async fn close(&self) {
        if let Some(listener) = &self.inner.listener {
            listener.abort();
        }
        let _ = self.inner.readers.close_by_ref().await;
        let _ = self.inner.writer.close_by_ref().await;
    }

    /// Tells when there may be something new in the change log or among the tokens.
    pub fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.inner.wakes.subscribe()
    }

    pub(crate) fn wake(&self, wake: Wake) {
        // Nobody listening is fine: the log is there for whoever comes later.
        let _ = self.inner.wakes.send(wake);
    }

    pub(crate) fn readers(&self) -> &DatabaseConnection {
        &self.inner.readers
    }

    pub(crate) fn backend(&self) -> DbBackend {
        self.inner.writer.get_database_backend()
    }

    /// Starts a transaction that writes.
    pub(crate) async fn begin_write(&self) -> Result<DatabaseTransaction, StoreError> {
        self.check_file()?;
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        Ok(self.inner.writer.begin_with_options(options).await?)
    }

    /// Starts a transaction whose reads all see one moment.
    pub(crate) async fn begin_snapshot(&self) -> Result<DatabaseTransaction, StoreError> {
        let options = match self.backend() {
            DbBackend::Postgres => TransactionOptions {
                isolation_level: Some(IsolationLevel::RepeatableRead),
                access_mode: Some(AccessMode::ReadOnly),
                ..TransactionOptions::default()
            },
            _ => TransactionOptions::default(),
        };
        Ok(self.inner.readers.begin_with_options(options).await?)
    }

    /// Refuses to write into an SQLite file that was moved or deleted: what is written there would be lost.
    fn check_file(&self) -> Result<(), StoreError> {
        match &self.inner.file {
            Some(file) if !file.is_still_there() => Err(StoreError::Unavailable(format!(
                "{} was moved, replaced or deleted while it was open; put it back, or restart the gateway",
                file.path.display()
            ))),
            _ => Ok(()),
        }
    }
}

/// Connections to an SQLite file, which stay open for as long as they are sound.
///
/// On a full disk or a failed read SQLite ends a transaction by itself. The rollback that follows then fails, and the
/// driver goes on as if the transaction were still open: it would nest every later one in it, report it as committed,
/// and never write it. A connection that is given back inside a transaction is therefore closed.
fn sqlite_pool(most: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(most)
        .acquire_timeout(ACQUIRE_TIME * 6)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .after_release(|connection, _| {
            Box::pin(async move {
                if connection.is_in_transaction() {
                    // Mostly the rollback is only waiting for its turn; then this waits for it.
                    connection.ping().await?;
                }
                Ok(!connection.is_in_transaction())
            })
        })
}

async fn migrate(connection: &DatabaseConnection) -> Result<(), StoreError> {
    Migrator::up(connection, None).await.map_err(|error| match StoreError::from(error) {
        StoreError::Database(message) if message.contains("is missing, this migration has been applied") => {
            StoreError::Database("its schema is of a newer version of foreword; use that version".to_owned())
        }
        error => error,
    })
}

/// The file that was opened, to notice when another one, or none, stands at its path.
struct OpenedFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl OpenedFile {
    fn remember(path: &Path) -> Option<Self> {
        let identity = identity(path);
        identity.is_some().then(|| Self { path: path.to_owned(), identity })
    }

    fn is_still_there(&self) -> bool {
        identity(&self.path) == self.identity
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!("sqlite:///a/b.db".parse(), Ok(Database::Sqlite("/a/b.db".into())));
        assert_eq!("sqlite:b.db".parse(), Ok(Database::Sqlite("b.db".into())));
        assert!("mysql://x/y".parse::<Database>().is_err());
        assert!("sqlite:".parse::<Database>().is_err());
    }

    #[test]
    fn passwords_are_never_shown() {
        let database: Database = "postgres://me:sec@ret@host:5432/db?password=also".parse().unwrap();
        assert_eq!(database.to_string(), "postgres://me@host:5432/db");
        assert_eq!(format!("{database:?}"), "postgres://me@host:5432/db");
    }
}
