//! From what went wrong to what the wire says of it.

use protocol::error::{ErrorData, ErrorKind, ErrorSubject, InternalReason};
use protocol::{Role, WorkspaceId};
use rpc::Error;
use store::StoreError;

/// An error of a kind, with what the kind adds.
pub(crate) fn error(kind: ErrorKind, message: impl Into<String>, fill: impl FnOnce(&mut ErrorData)) -> Error {
    let mut data = ErrorData::new(kind);
    fill(&mut data);
    Error::new(kind.code(), message, serde_json::to_value(data).unwrap_or_default())
}

/// No token, or one that opens nothing.
pub(crate) fn unauthenticated() -> Error {
    let message = "no valid access token; send one as `Authorization: Bearer TOKEN`";
    error(ErrorKind::Unauthenticated, message, |_| {})
}

/// The role is too weak.
pub(crate) fn needs_role(method: &str, needed: Role, has: Role) -> Error {
    let message = format!("`{method}` needs the role {needed}, this token has {has}");
    error(ErrorKind::Forbidden, message, |data| data.needed_role = Some(needed))
}

/// The token is bound to another workspace.
pub(crate) fn other_workspace(workspace_id: Option<&WorkspaceId>) -> Error {
    let message = match workspace_id {
        Some(id) => format!("this token is bound to another workspace than `{id}`"),
        None => "this token is bound to one workspace and may not do this".to_owned(),
    };
    error(ErrorKind::Forbidden, message, |_| {})
}

/// The state does not allow it.
pub(crate) fn invalid_state(message: impl Into<String>) -> Error {
    error(ErrorKind::InvalidState, message, |_| {})
}

/// What the store said, for the wire.
pub(crate) fn from_store(failure: StoreError) -> Error {
    let message = failure.to_string();
    match failure {
        StoreError::NotFound { what, id } => error(ErrorKind::NotFound, message, |data| {
            data.what = Some(what);
            data.id = Some(id);
        }),
        StoreError::VersionConflict { expected, actual, current } => {
            let message = match &current {
                Some(document) => format!(
                    "{message}; it was last changed by {}",
                    document.updated_by.as_deref().unwrap_or("somebody else")
                ),
                None => format!("there is no document in this scope, but version {expected} was expected"),
            };
            error(ErrorKind::VersionConflict, message, |data| {
                data.expected = Some(expected);
                data.actual = Some(actual.0);
                data.current = current;
            })
        }
        StoreError::AlreadyExists { what, name } => error(ErrorKind::AlreadyExists, message, |data| {
            data.what = Some(what);
            data.id = Some(name);
        }),
        StoreError::InvalidState(_)
        | StoreError::TurnEnded { .. }
        | StoreError::NotHolder { .. }
        | StoreError::SessionChanged { .. }
        | StoreError::TurnRunning { .. } => invalid_state(message),
        StoreError::TooManyTurns { limit } => error(ErrorKind::LimitReached, message, |data| {
            data.what = Some(ErrorSubject::WorkspaceTurns);
            data.limit = Some(limit);
            data.hint = Some("raise limits.workspace_turns to allow more at once".to_owned());
        }),
        StoreError::InvalidValue { .. } => Error::invalid_params(message),
        StoreError::LogPruned { oldest, .. } => {
            error(ErrorKind::LogPruned, message, |data| data.oldest_seq = Some(oldest))
        }
        StoreError::TooLarge { limit, actual } => error(ErrorKind::TooLarge, message, |data| {
            data.limit = Some(limit as u64);
            data.actual = Some(actual as u64);
        }),
        StoreError::DiskFull => internal(message, InternalReason::DiskFull),
        StoreError::Unavailable(_) => {
            tracing::warn!(error = %message, "the database is unavailable");
            internal(
                "the database does not answer at the moment; try again",
                InternalReason::DatabaseUnavailable,
            )
        }
        StoreError::Unreadable { .. } => {
            tracing::error!(error = %message, "what is stored cannot be read");
            internal(message, InternalReason::Stored)
        }
        StoreError::Database(_) => {
            tracing::error!(error = %message, "the database failed");
            internal("the database failed; the gateway's log has the details", InternalReason::DatabaseFailed)
        }
    }
}

pub(crate) fn internal(message: impl Into<String>, reason: InternalReason) -> Error {
    error(ErrorKind::InternalError, message, |data| data.reason = Some(reason))
}
