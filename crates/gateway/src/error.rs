//! Conversion of internal errors into wire errors.

use std::borrow::Cow;

use agent::{AgentError, RequestError};
use prompt::RebuildError;
use protocol::error::{ErrorData, ErrorKind, ErrorObject, ErrorSubject, Hint as _, InternalReason};
use protocol::{Role, WorkspaceId};
use store::StoreError;

pub(crate) fn unauthenticated() -> ErrorObject {
    let message = "no valid access token; send one as `Authorization: Bearer TOKEN`";
    ErrorObject::new(ErrorKind::Unauthenticated, message)
}

pub(crate) fn needs_role(method: &str, needed: Role, has: Role) -> ErrorObject {
    let message = format!("`{method}` needs the role {needed}, this token has {has}");
    ErrorObject::with(ErrorKind::Forbidden, message, |data| data.needed_role = Some(needed))
}

pub(crate) fn other_workspace(workspace_id: Option<&WorkspaceId>) -> ErrorObject {
    let message = match workspace_id {
        Some(id) => format!("this token is bound to another workspace than `{id}`"),
        None => "this token is bound to one workspace and may not do this".to_owned(),
    };
    ErrorObject::new(ErrorKind::Forbidden, message)
}

pub(crate) fn invalid_state(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(ErrorKind::InvalidState, message)
}

pub(crate) fn from_store(failure: StoreError) -> ErrorObject {
    let message = failure.to_string();
    match failure {
        StoreError::NotFound { what, id } => ErrorObject::with(ErrorKind::NotFound, message, |data| {
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
            ErrorObject::with(ErrorKind::VersionConflict, message, |data| {
                data.expected = Some(expected);
                data.actual = Some(actual.0);
                data.current = current;
            })
        }
        StoreError::AlreadyExists { what, name } => {
            ErrorObject::with(ErrorKind::AlreadyExists, message, |data| {
                data.what = Some(what);
                data.id = Some(name);
            })
        }
        StoreError::InvalidState(_)
        | StoreError::TurnEnded { .. }
        | StoreError::NotHolder { .. }
        | StoreError::SessionChanged { .. }
        | StoreError::TurnRunning { .. } => invalid_state(message),
        StoreError::TooManyTurns { limit } => ErrorObject::with(ErrorKind::LimitReached, message, |data| {
            data.what = Some(ErrorSubject::WorkspaceTurns);
            data.limit = Some(limit);
            data.hint = Some(
                "wait for one to end, or cancel one; limits.workspace_turns allows more at once".to_owned(),
            );
        }),
        StoreError::InvalidValue { .. } => invalid_params(message),
        StoreError::LogPruned { oldest, .. } => {
            ErrorObject::with(ErrorKind::LogPruned, message, |data| data.oldest_seq = Some(oldest))
        }
        StoreError::TooLarge { limit, actual } => ErrorObject::with(ErrorKind::TooLarge, message, |data| {
            data.limit = Some(limit as u64);
            data.actual = Some(actual as u64);
        }),
        StoreError::DiskFull => internal(message, InternalReason::DiskFull),
        // The driver's message can contain host names and paths of the server, so it is only logged.
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

pub(crate) fn invalid_params(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(ErrorKind::InvalidParams, message)
}

/// Returns `limit` if it is within 1 and `most`.
pub(crate) fn checked_limit(limit: u32, most: u32) -> Result<u32, ErrorObject> {
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid_params(format!("`limit` must be between 1 and {most}, not {limit}")))
}

pub(crate) fn internal(message: impl Into<String>, reason: InternalReason) -> ErrorObject {
    ErrorObject::with(ErrorKind::InternalError, message, |data| data.reason = Some(reason))
}

pub(crate) fn from_agent(failure: AgentError) -> ErrorObject {
    let kind = match &failure {
        AgentError::Hook(_) => ErrorKind::HookFailed,
        AgentError::OutsideWorkspace { .. } | AgentError::RootOutsideWorkspace { .. } => ErrorKind::Forbidden,
        AgentError::Files(_)
        | AgentError::NoDirectory
        | AgentError::Directory { .. }
        | AgentError::Tools(_)
        | AgentError::LeaseLost
        | AgentError::GatewayGone
        | AgentError::ShutDown
        | AgentError::Refused
        | AgentError::OnlyCalls
        | AgentError::CutCall { .. }
        | AgentError::SummaryTooLong { .. }
        | AgentError::Cancelled
        | AgentError::Withdrawn
        | AgentError::SkillsOff
        | AgentError::UnusableSkill { .. }
        | AgentError::Panicked
        | AgentError::TooLong { .. } => ErrorKind::InvalidState,
        AgentError::NoInput
        | AgentError::LongContext { .. }
        | AgentError::ModelName(_)
        | AgentError::OtherThread { .. } => ErrorKind::InvalidParams,
        AgentError::NoModel | AgentError::NoAnswer | AgentError::NoList | AgentError::Provider(_) => {
            ErrorKind::ProviderFailed
        }
        // Only a model named by the caller can get here: the gateway refuses to start with a default model whose
        // provider does not exist.
        AgentError::UnknownProvider(_)
        | AgentError::UnknownSkill { .. }
        | AgentError::NoManifest { .. }
        | AgentError::Rebuild(RebuildError::Missing { .. } | RebuildError::Purged { .. })
        | AgentError::Request(RequestError::Missing { .. } | RequestError::Tool { .. }) => {
            ErrorKind::NotFound
        }
        AgentError::Request(RequestError::Private { .. }) => ErrorKind::Forbidden,
        AgentError::Request(RequestError::Altered { .. }) => ErrorKind::InvalidState,
        AgentError::TooManyTurns { .. } | AgentError::QueueFull { .. } | AgentError::TokensSpent { .. } => {
            ErrorKind::LimitReached
        }
        AgentError::Store(_) | AgentError::Rebuild(_) => ErrorKind::InternalError,
    };
    if let AgentError::Store(failure) = failure {
        return from_store(failure);
    }
    if kind == ErrorKind::InternalError {
        tracing::error!(error = %failure, "what is stored cannot be used");
    }
    ErrorObject::with(kind, failure.to_string(), |data| {
        data.hint = failure.hint().map(Cow::into_owned);
        add_details(data, &failure);
    })
}

/// Adds the machine-readable details of an error.
fn add_details(data: &mut ErrorData, failure: &AgentError) {
    match failure {
        AgentError::Hook(hooks::HookError::Failed { hook_id, phase, .. }) => {
            data.hook_id = Some(hook_id.clone());
            data.phase = Some(phase.name().to_owned());
        }
        AgentError::NoModel | AgentError::NoAnswer => data.retryable = Some(false),
        AgentError::TooManyTurns { limit } => {
            data.what = Some(ErrorSubject::Turns);
            data.limit = Some(*limit as u64);
        }
        AgentError::QueueFull { limit } => {
            data.what = Some(ErrorSubject::WaitingTurns);
            data.limit = Some(*limit as u64);
        }
        AgentError::TokensSpent { limit } => {
            data.what = Some(ErrorSubject::TokensPerDay);
            data.limit = Some(*limit);
        }
        AgentError::UnknownProvider(failure) => {
            data.what = Some(ErrorSubject::Provider);
            data.id = Some(failure.provider.clone());
        }
        AgentError::UnknownSkill { slug, .. } => {
            data.what = Some(ErrorSubject::Skill);
            data.id = Some(slug.clone());
        }
        AgentError::Provider(failure) => {
            data.provider = Some(failure.provider.clone());
            data.status = failure.status;
            data.retryable = Some(failure.retryable);
        }
        AgentError::NoManifest { turn_id, .. } => {
            data.what = Some(ErrorSubject::Manifest);
            data.id = Some(turn_id.to_string());
        }
        AgentError::Rebuild(RebuildError::Missing { sha256, .. } | RebuildError::Purged { sha256, .. }) => {
            data.what = Some(ErrorSubject::PromptText);
            data.id = Some(sha256.to_string());
        }
        AgentError::Rebuild(_) => data.reason = Some(InternalReason::PromptAltered),
        _ => {}
    }
}
