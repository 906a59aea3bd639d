//! What can go wrong in the store, told apart so that a caller can answer each clearly.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use protocol::{Document, ErrorSubject, Sequence, ThreadId, TurnId, TurnStatus, Version};

use crate::column::enum_str;

/// Why an operation of the store failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it is deleted, or it belongs to another workspace.
    #[error("there is no {} `{id}`", what.words())]
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
        name: String,
    },
    /// The thing exists, but its state does not allow this.
    #[error("{0}")]
    InvalidState(String),
    /// The turn has ended, so nothing is added to it and nobody decides about it.
    #[error("turn `{turn_id}` has ended: it is {}", enum_str(status))]
    TurnEnded { turn_id: TurnId, status: TurnStatus },
    /// Another gateway runs the turn.
    #[error("turn `{turn_id}` is run by `{}`, not by `{owner}`", holder.as_deref().unwrap_or("nobody"))]
    NotHolder {
        turn_id: TurnId,
        /// Who runs it, where that is known.
        holder: Option<String>,
        owner: String,
    },
    /// Somebody else has saved the thread's session.
    #[error(
        "the session of thread `{thread_id}` was changed by somebody else: it is no longer at version {expected}"
    )]
    SessionChanged { thread_id: ThreadId, expected: Version },
    /// The thread has a turn that runs, so no other one can begin.
    #[error(
        "{} of thread `{thread_id}` is still running; wait for its end, or cancel it",
        turn_or_another(.turn_id.as_ref())
    )]
    TurnRunning {
        thread_id: ThreadId,
        /// The turn that runs, where it is known.
        turn_id: Option<TurnId>,
    },
    /// The workspace has as many turns running as it may.
    #[error("{limit} turns are running in this workspace, and no more may at once")]
    TooManyTurns { limit: u64 },
    /// A value is not acceptable.
    #[error("`{field}` {reason}")]
    InvalidValue { field: &'static str, reason: String },
    /// A text is over its limit.
    #[error("the text has {actual} bytes, the limit is {limit}")]
    TooLarge {
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
    Unavailable(#[source] Cause),
    /// What is stored is not what this version writes.
    #[error("the stored {what} cannot be read: {source}")]
    Unreadable { what: &'static str, source: Cause },
    /// Anything else the database said.
    #[error("the database failed: {0}")]
    Database(#[source] Cause),
}

/// What a driver or the system said. Shared, because a transaction that is lost fails every job in it.
pub type Cause = Arc<dyn Error + Send + Sync>;

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

    pub(crate) fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        StoreError::Unavailable(cause.into().into())
    }

    pub(crate) fn database(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        StoreError::Database(cause.into().into())
    }

    pub(crate) fn unreadable(what: &'static str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        StoreError::Unreadable { what, source: cause.into().into() }
    }

    /// The same for another job of a transaction that was lost.
    pub(crate) fn clone_for_batch(&self) -> Self {
        match self {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::Unavailable(cause) => StoreError::Unavailable(Arc::clone(cause)),
            StoreError::Database(cause) => StoreError::Database(Arc::clone(cause)),
            error => StoreError::database(error.to_string()),
        }
    }

    /// Whether PostgreSQL gave up on a transaction only because of others that ran beside it, or waited too long for a
    /// lock of another.
    pub(crate) fn is_retryable(&self) -> bool {
        // deadlock_detected, serialization_failure, lock_not_available, and unique_violation: whoever looked for a name
        // that another transaction was just giving away finds it taken at the second look.
        self.sql_state().is_some_and(|code| matches!(code.as_ref(), "40P01" | "40001" | "55P03" | "23505"))
    }

    /// Whether something is there already that there can be only one of.
    pub(crate) fn is_taken(&self) -> bool {
        self.sql_state().as_deref() == Some("23505")
    }

    /// PostgreSQL's code of what it refused.
    pub(crate) fn sql_state(&self) -> Option<Cow<'_, str>> {
        let (StoreError::Database(cause) | StoreError::Unavailable(cause)) = self else { return None };
        let Some(sqlx::Error::Database(database)) = cause.downcast_ref::<sqlx::Error>() else { return None };
        database.code()
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
            ) => StoreError::unavailable(error),
            _ => StoreError::database(error),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                match code.as_str() {
                    // disk_full
                    "53100" => StoreError::DiskFull,
                    // Connection exceptions, operator intervention, too many connections; a lock that another holds
                    // for too long, a transaction that was idle for too long because this process was frozen, a statement
                    // that took too long.
                    code if code.starts_with("08")
                        || code.starts_with("57P")
                        || matches!(code, "53300" | "55P03" | "25P03" | "57014") =>
                    {
                        StoreError::unavailable(error)
                    }
                    _ => StoreError::database(error),
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => StoreError::unavailable(error),
            _ => StoreError::database(error),
        }
    }
}

fn turn_or_another(turn_id: Option<&TurnId>) -> String {
    turn_id.map_or_else(|| "another turn".to_owned(), |id| format!("turn `{id}`"))
}
