//! Facts about a PostgreSQL server, for `foreword doctor`.

use std::str::FromStr as _;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::Timestamp;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::StoreError;
use crate::migrations;

/// Time limit for connecting.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Facts that are read without changing the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresReport {
    /// Version as a number, such as 170002.
    pub version: i64,
    pub max_connections: i64,
    /// Milliseconds that the server's clock is ahead of this machine's.
    pub clock_ahead_ms: i64,
    /// A migration that this version does not know.
    pub newer_schema: Option<String>,
    /// Number of migrations that the database has not had; 0 for an empty database.
    pub missing_migrations: usize,
}

/// Queries a server over a separate connection.
pub fn ask_postgres(address: &str) -> BoxFuture<'_, Result<PostgresReport, StoreError>> {
    Box::pin(async move {
        let options = PgConnectOptions::from_str(address)?;
        let connect = tokio::time::timeout(ANSWER_TIME, options.connect()).await;
        let no_answer = || format!("no answer for {} seconds", ANSWER_TIME.as_secs());
        let mut connection = connect.map_err(|_| StoreError::unavailable(no_answer()))??;
        let facts = "SELECT current_setting('server_version_num')::bigint, current_setting('max_connections')::bigint,
            floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let (version, max_connections, time): (i64, i64, i64) =
            sqlx::query_as(facts).fetch_one(&mut connection).await?;
        let clock_ahead_ms = time - Timestamp::now().milliseconds();
        let table = "SELECT to_regclass('seaql_migrations') IS NOT NULL";
        let applied: Vec<String> = if sqlx::query_scalar(table).fetch_one(&mut connection).await? {
            sqlx::query_scalar("SELECT version FROM seaql_migrations").fetch_all(&mut connection).await?
        } else {
            Vec::new()
        };
        let missing_migrations = if applied.is_empty() { 0 } else { migrations::count_missing(&applied) };
        let newer_schema = applied.into_iter().find(|name| !migrations::is_known(name));
        connection.close().await?;
        Ok(PostgresReport { version, max_connections, clock_ahead_ms, newer_schema, missing_migrations })
    })
}
