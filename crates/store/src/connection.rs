//! A connection to either database, and the few lines that know the drivers.
//!
//! Every statement is one text for both databases, with `$1` for its first parameter.

// Texts must not rely on what differs: a missing parameter is NULL on SQLite, a literal `1` has 32 bits on PostgreSQL,
// and a failed statement there aborts its whole transaction, so no error of a statement may be caught.

use std::borrow::Cow;

use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use protocol::Timestamp;
use rusqlite::types::{FromSql, ToSql, ToSqlOutput, ValueRef};
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, AssertSqlSafe, Decode, PgConnection, Postgres, Row as _, Type};

use crate::StoreError;
use crate::change_log::Wake;
use crate::column::{FromColumn, Value, from_json};
use crate::engine::clock::DatabaseClock;

/// A connection on which a job runs: inside a transaction, unless the job reads with a single statement.
///
/// On SQLite nothing here waits. A job that awaits anything else is rejected.
pub(crate) struct Tx<'c> {
    connection: DriverConnection<'c>,
    clock: Option<&'c DatabaseClock>,
    outcome: JobOutcome,
}

pub(crate) enum DriverConnection<'c> {
    Sqlite(&'c mut rusqlite::Connection),
    Postgres(&'c mut PgConnection),
}

/// Side effects collected while a job ran.
#[derive(Debug, Default)]
pub(crate) struct JobOutcome {
    /// Wakes to send after commit.
    pub(crate) wakes: Vec<Wake>,
    /// Set if the job found nothing to change.
    pub(crate) discarded: bool,
    pub(crate) statements: u64,
    /// Bytes of all parameters.
    pub(crate) bytes: usize,
}

impl<'c> Tx<'c> {
    /// Wraps a connection.
    // `clock` is `None` on SQLite, which uses the machine's clock.
    pub(crate) fn new(connection: DriverConnection<'c>, clock: Option<&'c DatabaseClock>) -> Self {
        Self { connection, clock, outcome: JobOutcome::default() }
    }

    /// Returns the time that all gateways of the database agree on, like [`crate::Store::now`].
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.map_or_else(Timestamp::now, DatabaseClock::now)
    }

    pub(crate) fn into_outcome(self) -> JobOutcome {
        self.outcome
    }

    /// Rolls the transaction back although the job succeeds.
    pub(crate) fn discard(&mut self) {
        self.outcome.discarded = true;
    }

    /// Runs statements without parameters or results.
    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<(), StoreError> {
        match &mut self.connection {
            DriverConnection::Sqlite(connection) => connection.execute_batch(sql)?,
            DriverConnection::Postgres(connection) => {
                // Not prepared: a prepared statement is a single one, and a script has several.
                sqlx::raw_sql(sql).execute(&mut **connection).await?;
            }
        }
        Ok(())
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.connection, DriverConnection::Postgres(_))
    }

    /// Runs a statement and returns the number of rows it changed.
    // For a SELECT the number is meaningless.
    pub(crate) fn execute<'a>(
        &'a mut self,
        sql: impl Into<Cow<'static, str>>,
        values: &'a [Value<'a>],
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.execute_boxed(sql.into(), values)
    }

    /// Boxed and without a type parameter, like [`Tx::each_boxed`].
    // So the drivers' code is compiled once, and not again for each statement and each crate that awaits it.
    fn execute_boxed<'a>(
        &'a mut self,
        sql: Cow<'static, str>,
        values: &'a [Value<'a>],
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            self.count(values);
            Ok(match &mut self.connection {
                DriverConnection::Sqlite(connection) => connection
                    .prepare_cached(&numbered_for_sqlite(&sql))?
                    .execute(rusqlite::params_from_iter(values))?
                    as u64,
                DriverConnection::Postgres(connection) => {
                    sqlx::query_with(AssertSqlSafe(sql), arguments(values)?)
                        .execute(&mut **connection)
                        .await?
                        .rows_affected()
                }
            })
        })
    }

    /// Passes each row of a result to `read` as it arrives.
    pub(crate) async fn each(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: &[Value<'_>],
        mut read: impl FnMut(Row<'_>) -> Result<(), StoreError> + Send,
    ) -> Result<(), StoreError> {
        self.each_boxed(sql.into(), values, &mut read).await
    }

    fn each_boxed<'a>(
        &'a mut self,
        sql: Cow<'static, str>,
        values: &'a [Value<'a>],
        read: &'a mut (dyn FnMut(Row<'_>) -> Result<(), StoreError> + Send),
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.count(values);
            match &mut self.connection {
                DriverConnection::Sqlite(connection) => {
                    let mut statement = connection.prepare_cached(&numbered_for_sqlite(&sql))?;
                    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                    while let Some(row) = rows.next()? {
                        read(Row::Sqlite(row))?;
                    }
                }
                DriverConnection::Postgres(connection) => {
                    let mut rows =
                        sqlx::query_with(AssertSqlSafe(sql), arguments(values)?).fetch(&mut **connection);
                    while let Some(row) = rows.try_next().await? {
                        read(Row::Postgres(&row))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns all rows of a result.
    pub(crate) async fn all<T: Send>(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: &[Value<'_>],
        mut read: impl FnMut(Columns<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        // Collected here and not by the driver, so that rows are converted while they arrive.
        let mut all = Vec::new();
        self.each(sql, values, |row| {
            all.push(read(row.columns())?);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// Returns the row of a result that has at most one, because its conditions name a key.
    pub(crate) async fn one_by_key<T: Send>(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        values: &[Value<'_>],
        read: impl FnMut(Columns<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(sql, values, read).await?.pop())
    }

    /// Inserts rows of `columns` values each, in batches as [`inserts`] makes them.
    pub(crate) async fn insert(
        &mut self,
        before: &str,
        columns: usize,
        values: &[Value<'_>],
        after: &str,
    ) -> Result<(), StoreError> {
        self.execute_all(inserts(before, columns, values, after)).await
    }

    /// Runs statements one after another.
    pub(crate) async fn execute_all(&mut self, statements: Vec<Statement<'_>>) -> Result<(), StoreError> {
        for Statement { sql, values } in statements {
            self.execute(sql, &values).await?;
        }
        Ok(())
    }

    /// Sends a wake after commit, to other gateways too.
    pub(crate) fn wake(&mut self, wake: Wake) {
        self.outcome.wakes.push(wake);
    }

    fn count(&mut self, values: &[Value<'_>]) {
        self.outcome.statements += 1;
        self.outcome.bytes += values.iter().map(Value::bytes).sum::<usize>();
    }
}

/// A statement and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Statement<'a> {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<Value<'a>>,
}

/// Builds INSERT statements for rows of `columns` values each, in batches of [`MAX_ROWS`].
// `before` ends with `VALUES`; `after` may contain an ON CONFLICT clause.
pub(crate) fn inserts<'a>(
    before: &str,
    columns: usize,
    values: &[Value<'a>],
    after: &str,
) -> Vec<Statement<'a>> {
    let batches = values.chunks(columns * MAX_ROWS).map(|batch| {
        let rows =
            (0..batch.len() / columns).map(|row| format!("({})", numbered(row * columns + 1, columns)));
        let sql = format!("{before} {} {after}", rows.collect::<Vec<_>>().join(", "));
        Statement { sql: sql.into(), values: batch.to_vec() }
    });
    batches.collect()
}

/// Rows of one statement.
// Their parameters stay below the limits of both databases.
pub(crate) const MAX_ROWS: usize = 500;

/// Returns `count` placeholders, starting with `$first`.
pub(crate) fn numbered(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// Rewrites `$2` as `?2`.
// SQLite treats `$2` as a name and numbers names by their first occurrence, so `$2` before `$1` would be bound wrongly.
fn numbered_for_sqlite(sql: &str) -> String {
    sql.replace('$', "?")
}

fn arguments(values: &[Value<'_>]) -> Result<PgArguments, StoreError> {
    let mut arguments = PgArguments::default();
    for value in values {
        match *value {
            Value::Text(text) => arguments.add(text),
            Value::Number(number) => arguments.add(number),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Value::Number(Some(number)) => ValueRef::Integer(number),
            Value::Text(None) | Value::Number(None) => ValueRef::Null,
        }))
    }
}

/// A row of either database.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r PgRow),
}

/// A type that both drivers can read from a column.
pub(crate) trait Column: FromSql + for<'r> Decode<'r, Postgres> + Type<Postgres> {}

impl<T: FromSql + for<'r> Decode<'r, Postgres> + Type<Postgres>> Column for T {}

impl<'r> Row<'r> {
    pub(crate) fn get<T: Column>(self, index: usize) -> Result<T, StoreError> {
        Ok(match self {
            Row::Sqlite(row) => row.get(index)?,
            Row::Postgres(row) => row.try_get(index)?,
        })
    }

    pub(crate) fn columns(self) -> Columns<'r> {
        Columns { row: self, next: 0 }
    }
}

/// The columns of a row in the order of the SELECT, so that a struct is filled in the order of its fields.
pub(crate) struct Columns<'r> {
    row: Row<'r>,
    next: usize,
}

impl Columns<'_> {
    pub(crate) fn next<T: FromColumn>(&mut self) -> Result<T, StoreError> {
        let column = self.row.get(self.next)?;
        self.next += 1;
        T::from_column(column)
    }

    /// Reads a value that is stored as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, what: &'static str) -> Result<T, StoreError> {
        from_json(what, &self.next::<String>()?)
    }

    pub(crate) fn optional_json<T: DeserializeOwned>(
        &mut self,
        what: &'static str,
    ) -> Result<Option<T>, StoreError> {
        self.next::<Option<String>>()?.map(|text| from_json(what, &text)).transpose()
    }

    /// Returns true if the next column is NULL, without consuming it: a LEFT JOIN that found nothing has no id there.
    pub(crate) fn is_null(&self) -> Result<bool, StoreError> {
        Ok(self.row.get::<Option<String>>(self.next)?.is_none())
    }
}
