//! What can go wrong in the store, told apart so that a caller can answer each clearly.

use protocol::{Document, Version};
use sea_orm::sqlx;
use sea_orm::{DbErr, RuntimeErr, SqlErr};

/// Why an operation of the store failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it is deleted, or it belongs to another workspace.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its id or name.
        id: String,
    },
    /// Somebody else saved in between.
    #[error("the document is at version {actual}, not {expected}")]
    VersionConflict {
        /// What the caller expected.
        expected: Version,
        /// What there is; 0 when there is no document.
        actual: Version,
        /// The document as it is, if there is one.
        current: Option<Box<Document>>,
    },
    /// The name is taken.
    #[error("there is already a {what} named `{name}`")]
    AlreadyExists {
        /// What has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The thing exists, but its state does not allow this.
    #[error("{0}")]
    InvalidState(String),
    /// The thread has a turn that runs, so no other one can begin.
    #[error(
        "{} of thread `{thread_id}` is still running; wait for its end, or cancel it",
        turn_or_another(.turn_id.as_deref())
    )]
    TurnRunning {
        /// The thread.
        thread_id: String,
        /// The turn that runs, where it is known.
        turn_id: Option<String>,
    },
    /// A value is not acceptable.
    #[error("`{field}` {reason}")]
    InvalidValue {
        /// Which value.
        field: &'static str,
        /// Why not.
        reason: String,
    },
    /// A text is over its limit.
    #[error("the text has {actual} bytes, the limit is {limit}")]
    TooLarge {
        /// Most bytes.
        limit: usize,
        /// How many there were.
        actual: usize,
    },
    /// The disk that holds the database is full.
    #[error("the disk that holds the database is full; nothing was changed")]
    DiskFull,
    /// The database does not answer.
    #[error("the database does not answer: {0}")]
    Unavailable(String),
    /// Anything else the database said.
    #[error("the database failed: {0}")]
    Database(String),
}

impl StoreError {
    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        StoreError::NotFound { what, id: id.to_string() }
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        StoreError::InvalidValue { field, reason: reason.into() }
    }
}

impl From<DbErr> for StoreError {
    fn from(error: DbErr) -> Self {
        match &error {
            DbErr::Conn(RuntimeErr::SqlxError(inner))
            | DbErr::Exec(RuntimeErr::SqlxError(inner))
            | DbErr::Query(RuntimeErr::SqlxError(inner)) => classify(inner),
            DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => StoreError::Unavailable(error.to_string()),
            _ => StoreError::Database(error.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        classify(&error)
    }
}

fn turn_or_another(turn_id: Option<&str>) -> String {
    turn_id.map_or_else(|| "another turn".to_owned(), |id| format!("turn `{id}`"))
}

/// Whether the error says that a unique index forbids the row.
pub(crate) fn is_unique_violation(error: &DbErr) -> bool {
    matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_)))
}

fn classify(error: &sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            match code.as_ref() {
                // SQLITE_FULL; PostgreSQL's disk_full.
                "13" | "53100" => StoreError::DiskFull,
                // SQLite: BUSY, IOERR, CANTOPEN, READONLY and their extended codes.
                "5" | "10" | "14" | "8" | "1032" | "1544" | "778" | "1034" | "4874" | "5386" | "522"
                | "266" => StoreError::Unavailable(database.message().to_owned()),
                // PostgreSQL: connection exceptions, operator intervention, too many connections.
                code if code.starts_with("08") || code.starts_with("57P") || code == "53300" => {
                    StoreError::Unavailable(database.message().to_owned())
                }
                _ => StoreError::Database(database.message().to_owned()),
            }
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => StoreError::Unavailable(error.to_string()),
        _ => StoreError::Database(error.to_string()),
    }
}
