//! A plain connection to the same database, for what a statement costs by itself.

use std::str::FromStr as _;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sea_orm::sqlx::{self, Connection as _};
use store::Database;

/// A connection that nothing stands in front of, as durable as the store's.
pub(crate) enum Bare {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// Runs the same code on either connection.
macro_rules! on {
    ($bare:expr, $connection:ident => $body:expr) => {
        match $bare {
            $crate::bare::Bare::Sqlite($connection) => $body,
            $crate::bare::Bare::Postgres($connection) => $body,
        }
    };
}
pub(crate) use on;

impl Bare {
    pub(crate) async fn connect(database: &Database) -> anyhow::Result<Self> {
        Ok(match database {
            Database::Sqlite(path) => {
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full)
                    .foreign_keys(true);
                Self::Sqlite(SqliteConnection::connect_with(&options).await?)
            }
            Database::Postgres(address) => {
                Self::Postgres(PgConnection::connect_with(&PgConnectOptions::from_str(address)?).await?)
            }
        })
    }

    /// How a transaction that writes begins.
    pub(crate) fn begin_write(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        }
    }

    /// Runs statements that answer with nothing.
    pub(crate) async fn execute(&mut self, statements: &[String]) -> anyhow::Result<()> {
        for statement in statements {
            let query = sqlx::AssertSqlSafe(statement.as_str());
            on!(self, connection => { sqlx::query(query).execute(connection).await?; });
        }
        Ok(())
    }
}
