//! Errors of the store, each distinguishable by the caller.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use protocol::{Document, ErrorSubject, Sequence, ThreadId, TurnId, TurnStatus, Version};

use crate::column::enum_str;

/// Failure of a store operation. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Does not exist, is deleted, or belongs to another workspace.
    #[error("there is no {} `{id}`", what.words())]
    NotFound {
        what: ErrorSubject,
        /// Its id or name.
        id: String,
    },
    /// The document was saved by another caller in between.
    #[error("the document is at version {actual}, not {expected}")]
    VersionConflict {
        /// Version that the caller expected.
        expected: Version,
        /// Current version; 0 if there is no document.
        actual: Version,
        /// Current document, if there is one.
        current: Option<Box<Document>>,
    },
    /// The name is taken.
    #[error("there is already a {what} named `{name}`")]
    AlreadyExists { what: ErrorSubject, name: String },
    /// Exists, but its state does not allow the operation.
    #[error("{0}")]
    InvalidState(String),
    /// The turn has ended and accepts no changes.
    #[error("turn `{turn_id}` has ended: it is {}", enum_str(status))]
    TurnEnded { turn_id: TurnId, status: TurnStatus },
    /// Another gateway runs the turn.
    #[error("turn `{turn_id}` is run by `{}`, not by `{owner}`", holder.as_deref().unwrap_or("nobody"))]
    NotHolder {
        turn_id: TurnId,
        /// The gateway that runs it, if known.
        holder: Option<String>,
        owner: String,
    },
    /// The thread's session was saved by another caller.
    #[error(
        "the session of thread `{thread_id}` was changed by somebody else: it is no longer at version {expected}"
    )]
    SessionChanged { thread_id: ThreadId, expected: Version },
    /// The thread has a running turn, so another one cannot start.
    #[error(
        "{} of thread `{thread_id}` is still running; wait for its end, or cancel it",
        turn_or_another(.turn_id.as_ref())
    )]
    TurnRunning {
        thread_id: ThreadId,
        /// The running turn, if known.
        turn_id: Option<TurnId>,
    },
    /// The workspace has reached its limit of running turns.
    #[error("the workspace already has {limit} running turns, which is its limit")]
    TooManyTurns { limit: u64 },
    /// A value is not acceptable.
    #[error("`{field}` {reason}")]
    InvalidValue { field: &'static str, reason: String },
    /// A text exceeds its limit.
    #[error("the text has {actual} bytes, the limit is {limit}")]
    TooLarge { limit: usize, actual: usize },
    /// The changes after a sequence number are no longer in the log, or the number was never assigned.
    #[error("{}", why_pruned(*since, *oldest, *newest))]
    LogPruned {
        /// Requested number.
        since: Sequence,
        /// Oldest number in the log.
        oldest: Sequence,
        /// Newest assigned number.
        newest: Sequence,
    },
    #[error("the disk that holds the database is full; nothing was changed")]
    DiskFull,
    /// The database does not answer.
    #[error("the database does not answer: {0}")]
    Unavailable(#[source] Cause),
    /// Stored data is not in a format that this version reads.
    #[error("the stored {what} cannot be read: {source}")]
    Unreadable { what: &'static str, source: Cause },
    /// Any other error of the database.
    #[error("the database failed: {0}")]
    Database(#[source] Cause),
}

/// Error of a driver or the system.
// Shared, because a lost transaction fails every job in it.
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

    /// Copies the error for another job of the same lost transaction.
    pub(crate) fn clone_for_batch(&self) -> Self {
        match self {
            StoreError::DiskFull => StoreError::DiskFull,
            StoreError::Unavailable(cause) => StoreError::Unavailable(Arc::clone(cause)),
            StoreError::Database(cause) => StoreError::Database(Arc::clone(cause)),
            error => StoreError::database(error.to_string()),
        }
    }

    /// Returns true if PostgreSQL aborted a transaction only because of concurrent ones, or because a lock was not
    /// released in time.
    pub(crate) fn is_retryable(&self) -> bool {
        // deadlock_detected, serialization_failure, lock_not_available and unique_violation. A transaction that checked
        // a name just before another one committed it finds it taken on the second attempt, and returns the proper
        // error.
        self.sql_state().is_some_and(|code| matches!(code.as_ref(), "40P01" | "40001" | "55P03" | "23505"))
    }

    /// Returns true if a unique constraint was violated.
    pub(crate) fn is_taken(&self) -> bool {
        self.sql_state().as_deref() == Some("23505")
    }

    /// Returns PostgreSQL's error code.
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
                    // Connection exceptions, operator intervention, too many connections; a lock that was not released
                    // in time, a transaction that idled because this process was frozen, a statement that took too
                    // long.
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
