//! What can go wrong in the store, told apart so that a caller can answer each clearly.

use protocol::{Document, ErrorSubject, Sequence, Version};

/// Why an operation of the store failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it is deleted, or it belongs to another workspace.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What was looked for.
        what: ErrorSubject,
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
        what: ErrorSubject,
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
    /// What came after a sequence number is no longer in the log, or never was.
    #[error("{}", why_pruned(*since, *oldest, *newest))]
    LogPruned {
        /// What was asked for.
        since: Sequence,
        /// The oldest that is there.
        oldest: Sequence,
        /// The newest that was given out.
        newest: Sequence,
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

fn why_pruned(since: Sequence, oldest: Sequence, newest: Sequence) -> String {
    if since > newest {
        format!("`since` is {since}, but the newest change of this workspace is {newest}")
    } else {
        format!(
            "changes before {oldest} are no longer kept, so those since {since} cannot be sent; reload the workspace"
        )
    }
}

impl StoreError {
    pub(crate) fn not_found(what: ErrorSubject, id: impl ToString) -> Self {
        StoreError::NotFound { what, id: id.to_string() }
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        StoreError::InvalidValue { field, reason: reason.into() }
    }

    /// The same for another job of a transaction that was lost.
    pub(crate) fn for_another(&self) -> Self {
        match self {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::Unavailable(reason) => StoreError::Unavailable(reason.clone()),
            error => StoreError::Database(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => StoreError::DiskFull,
            Some(
                Code::DatabaseBusy
                | Code::DatabaseLocked
                | Code::SystemIoFailure
                | Code::CannotOpen
                | Code::ReadOnly,
            ) => StoreError::Unavailable(error.to_string()),
            _ => StoreError::Database(error.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                match code.as_ref() {
                    // disk_full
                    "53100" => StoreError::DiskFull,
                    // Connection exceptions, operator intervention, too many connections.
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
}

fn turn_or_another(turn_id: Option<&str>) -> String {
    turn_id.map_or_else(|| "another turn".to_owned(), |id| format!("turn `{id}`"))
}
