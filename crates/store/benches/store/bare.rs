//! A plain connection to the same database, to measure the statements alone.

use std::collections::HashMap;

use rusqlite::ToSql;
use sqlx::{Connection as _, PgConnection};
use store::Database;

/// A direct connection with the store's durability.
pub(crate) enum Bare {
    Sqlite { connection: rusqlite::Connection, texts: Texts },
    Postgres(PgConnection),
}

/// Statements in SQLite's notation.
// `?2` is the second parameter, while SQLite numbers `$2` by its first occurrence.
#[derive(Default)]
pub(crate) struct Texts(HashMap<&'static str, String>);

impl Texts {
    fn of(&mut self, sql: &'static str) -> &str {
        self.0.entry(sql).or_insert_with(|| sql.replace('$', "?"))
    }
}

/// A parameter.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Number(i64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

/// Lists the parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::bare::Value::from($value)),*] };
}
pub(crate) use values;

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        match self {
            Value::Text(text) => text.to_sql(),
            Value::Number(number) => number.to_sql(),
        }
    }
}

impl Bare {
    pub(crate) async fn connect(database: &Database) -> anyhow::Result<Self> {
        Ok(match database {
            Database::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path)?;
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.pragma_update(None, "synchronous", "FULL")?;
                connection.pragma_update(None, "foreign_keys", true)?;
                connection.busy_timeout(std::time::Duration::from_secs(5))?;
                Self::Sqlite { connection, texts: Texts::default() }
            }
            Database::Postgres(address) => Self::Postgres(PgConnection::connect(address).await?),
        })
    }

    /// Returns the statement that begins a writing transaction.
    pub(crate) fn begin_write(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        }
    }

    /// Runs a prepared statement and returns the number of changed rows.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> anyhow::Result<u64> {
        Ok(match self {
            Self::Sqlite { connection, texts } => {
                connection.prepare_cached(texts.of(sql))?.execute(rusqlite::params_from_iter(values))? as u64
            }
            Self::Postgres(connection) => bind(sql, values).execute(connection).await?.rows_affected(),
        })
    }

    /// Reads the columns of all rows: a `t` in `columns` is a text, an `n` a number, and both may be NULL.
    pub(crate) async fn select(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        columns: &str,
    ) -> anyhow::Result<Vec<Vec<Cell>>> {
        use sqlx::Row as _;
        let kinds: Vec<char> = columns.chars().collect();
        let mut answer = Vec::new();
        match self {
            Self::Sqlite { connection, texts } => {
                let mut statement = connection.prepare_cached(texts.of(sql))?;
                let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                while let Some(row) = rows.next()? {
                    let cells = kinds.iter().enumerate().map(|(index, kind)| match kind {
                        't' => Ok(Cell::Text(row.get(index)?)),
                        _ => Ok(Cell::Number(row.get(index)?)),
                    });
                    answer.push(cells.collect::<rusqlite::Result<_>>()?);
                }
            }
            Self::Postgres(connection) => {
                for row in bind(sql, values).fetch_all(connection).await? {
                    let cells = kinds.iter().enumerate().map(|(index, kind)| match kind {
                        't' => Ok(Cell::Text(row.try_get(index)?)),
                        _ => Ok(Cell::Number(row.try_get(index)?)),
                    });
                    answer.push(cells.collect::<sqlx::Result<_>>()?);
                }
            }
        }
        Ok(answer)
    }

    /// Runs statements without results.
    pub(crate) async fn script(&mut self, statements: &[String]) -> anyhow::Result<()> {
        for statement in statements {
            match self {
                Self::Sqlite { connection, .. } => connection.execute_batch(statement)?,
                Self::Postgres(connection) => {
                    let statement = sqlx::AssertSqlSafe(statement.as_str());
                    sqlx::raw_sql(statement).execute(connection).await?;
                }
            }
        }
        Ok(())
    }
}

/// A column of a row.
#[expect(dead_code, reason = "it is decoded, and that is what is measured")]
pub(crate) enum Cell {
    Text(Option<String>),
    Number(Option<i64>),
}

fn bind<'q>(
    sql: &'static str,
    values: &[Value<'q>],
) -> sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match *value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
    })
}
