//! The database's address, how it is opened, and the handle for everything else.

use futures_util::future::BoxFuture;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use protocol::{Timestamp, WorkspaceId};
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{OwnedSemaphorePermit, broadcast};

use crate::StoreError;
use crate::change_log::Wake;
use crate::connection::Tx;
use crate::engine::PoolFigures;
use crate::engine::counter::{Counter, Statements};
use crate::engine::postgres::Postgres;
use crate::engine::sqlite::Sqlite;

/// Wakes that a slow receiver may miss before it gets [`Wake::Everything`].
const WAKES: usize = 1024;

/// Location of the data.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite(PathBuf),
    /// A PostgreSQL server, as a `postgres://` address.
    Postgres(String),
}

/// An invalid database address.
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

impl Database {
    /// Returns advice for a database that could not be opened.
    pub fn hint(&self, error: &StoreError) -> Option<String> {
        let Database::Postgres(address) = self else { return None };
        let state = error.sql_state();
        match state.as_deref() {
            // invalid_catalog_name
            Some("3D000") => {
                let options = PgConnectOptions::from_str(address).ok()?;
                let host = options.get_host();
                let port = options.get_port();
                let user = options.get_username();
                let name = options.get_database().unwrap_or(user);
                Some(format!("make it with `createdb -h {host} -p {port} -U {user} {name}`"))
            }
            // invalid_authorization_specification, invalid_password
            Some("28000" | "28P01") => {
                Some("check the user and the password in gateway.database (--database)".to_owned())
            }
            None if matches!(error, StoreError::Unavailable(_)) => {
                Some("start PostgreSQL there, or fix gateway.database (--database)".to_owned())
            }
            _ => None,
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

/// Removes the password between `user:` and `@`, and the query, which may contain one too.
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

/// An open database. Clones share its connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    wakes: broadcast::Sender<Wake>,
    counter: Arc<Counter>,
}

pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens a database and brings its schema up to date. A missing SQLite file is created.
    pub fn open<'a>(database: &'a Database) -> BoxFuture<'a, Result<Self, StoreError>> {
        Box::pin(async move {
            // Without a receiver wakes are dropped. Subscribers come later and read the log first.
            let (wakes, _) = broadcast::channel(WAKES);
            let engine = match database {
                Database::Sqlite(path) => Engine::Sqlite(Sqlite::open(path, wakes.clone()).await?),
                Database::Postgres(address) => {
                    Engine::Postgres(Postgres::open(address, wakes.clone()).await?)
                }
            };
            Ok(Self { inner: Arc::new(Inner { engine, wakes, counter: Arc::default() }) })
        })
    }

    /// Checks that the database answers.
    pub fn ping(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            match &self.inner.engine {
                // A query would only read cached pages, so SQLite also checks the file itself.
                Engine::Sqlite(sqlite) => sqlite.ping().await,
                Engine::Postgres(_) => {
                    self.read(async |tx: &mut Tx<'_>| {
                        tx.all("SELECT 'here'", &[], |_| Ok(())).await.map(drop)
                    })
                    .await
                }
            }
        })
    }

    /// Returns the number of the database's history, which grows when a PostgreSQL standby is promoted. `None` for SQLite, or if it
    /// is unknown.
    pub fn timeline(&self) -> Option<u32> {
        match &self.inner.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => postgres.timeline(),
        }
    }

    /// Returns the time that all gateways of this database agree on. An SQLite file has one gateway, so there it is the
    /// machine's.
    pub fn now(&self) -> Timestamp {
        match &self.inner.engine {
            Engine::Sqlite(_) => Timestamp::now(),
            Engine::Postgres(postgres) => postgres.now(),
        }
    }

    /// Closes every connection. An SQLite file is left without a write-ahead log.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.inner.engine {
                Engine::Sqlite(sqlite) => sqlite.close().await,
                Engine::Postgres(postgres) => postgres.close().await,
            }
        })
    }

    /// Subscribes to hints that there may be something new in the change log or among the tokens.
    pub fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.inner.wakes.subscribe()
    }

    /// Returns the number of statements and transactions since the store was opened.
    pub fn statements(&self) -> Statements {
        self.inner.counter.now()
    }

    /// Returns the connections to the server; `None` for an SQLite file.
    pub fn pool(&self) -> Option<PoolFigures> {
        match &self.inner.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => Some(postgres.pool_figures()),
        }
    }

    #[cfg(test)]
    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn counter(&self) -> &Counter {
        &self.inner.counter
    }

    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        match &self.inner.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => Some(postgres),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.inner.engine, Engine::Postgres(_))
    }

    /// Waits for permission to write to a workspace. `None` on SQLite, whose writers already queue for one thread.
    // Without the limit, the writers of one busy workspace would take all connections and then wait for each other's
    // row lock.
    pub(crate) async fn workspace_permit(
        &self,
        workspace_id: &WorkspaceId,
    ) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
        match &self.inner.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(postgres) => postgres.workspace_permit(workspace_id).await.map(Some),
        }
    }

    /// Removes overwritten pages from SQLite's write-ahead log.
    // Failing is not an error: a busy log is emptied by a later checkpoint, and the purge itself is already committed.
    pub(crate) async fn empty_log(&self) {
        if let Engine::Sqlite(sqlite) = &self.inner.engine
            && let Err(error) = sqlite.empty_log().await
        {
            tracing::warn!(%error, "failed to truncate the write-ahead log");
        }
    }

    /// Runs a change in a transaction and returns after its commit. An error leaves no trace.
    ///
    /// The change must await nothing but its connection.
    // It is cloned because PostgreSQL may run it again after a deadlock or a serialization failure.
    pub(crate) async fn write<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Clone + Send + 'static,
    {
        self.inner.counter.count_transaction();
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.write(self.inner.counter.clone(), change).await,
            Engine::Postgres(postgres) => postgres.write(&self.inner.counter, change).await,
        }
    }

    /// Runs a read-only job.
    // On PostgreSQL each of its statements may see a different state.
    pub(crate) async fn read<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.read(self.inner.counter.clone(), job).await,
            Engine::Postgres(postgres) => postgres.read(&self.inner.counter, job).await,
        }
    }

    /// Runs a job whose reads all see the same state.
    pub(crate) async fn read_snapshot<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        match &self.inner.engine {
            Engine::Sqlite(sqlite) => sqlite.read(self.inner.counter.clone(), job).await,
            Engine::Postgres(postgres) => postgres.read_snapshot(&self.inner.counter, job).await,
        }
    }
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
