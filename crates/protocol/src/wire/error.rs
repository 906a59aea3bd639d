//! Error codes in one table for gateway, clients and reference, and errors with advice.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use strum::{Display, IntoStaticStr};

use crate::{Document, Role, Sequence, Version};

/// Kind of an error, as named in `error.data.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The message is not JSON.
    ParseError,
    /// The message is not a JSON-RPC request.
    InvalidRequest,
    /// The method does not exist.
    MethodNotFound,
    /// A parameter is missing, unknown, or of the wrong type.
    InvalidParams,
    /// The gateway failed; `reason` is set if it is known.
    InternalError,
    /// The token is missing, unknown or revoked.
    Unauthenticated,
    /// The token's role or workspace does not allow the call.
    Forbidden,
    /// The object does not exist, is deleted, or belongs to another workspace.
    NotFound,
    /// The document was saved in between.
    VersionConflict,
    /// The name is taken.
    AlreadyExists,
    /// The object's state does not allow the call.
    InvalidState,
    /// The change log does not reach back to the requested position.
    LogPruned,
    /// A message or text exceeds its limit.
    TooLarge,
    /// Too many requests; retry after `retry_after_ms`.
    RateLimited,
    /// The limit of `what`, concurrent or daily, is reached.
    LimitReached,
    /// A provider failed, or none is configured.
    ProviderFailed,
    /// A hook with the policy `fail_closed` failed.
    HookFailed,
}

impl ErrorKind {
    /// Every kind with its code and meaning, as shown in the protocol reference.
    // JSON-RPC reserves -32000 to -32099 for servers and the other negative codes here for itself. Clients
    // match on codes, so none is ever reassigned.
    pub const TABLE: &'static [(ErrorKind, i32, &'static str)] = &[
        (ErrorKind::ParseError, -32700, "the message is not JSON"),
        (ErrorKind::InvalidRequest, -32600, "the message is JSON, but not a JSON-RPC 2.0 request"),
        (ErrorKind::MethodNotFound, -32601, "the method does not exist"),
        (
            ErrorKind::InvalidParams,
            -32602,
            "a parameter is missing, unknown, of the wrong type or out of range",
        ),
        (
            ErrorKind::InternalError,
            -32603,
            "the gateway failed; `reason` may be `disk_full` or `database_unavailable`",
        ),
        (ErrorKind::Unauthenticated, -32001, "the token is missing, unknown or revoked"),
        (ErrorKind::Forbidden, -32003, "the token's role (`needed_role`) or workspace does not allow it"),
        (
            ErrorKind::NotFound,
            -32004,
            "`what` with that `id` does not exist, is deleted, or is in another workspace",
        ),
        (
            ErrorKind::VersionConflict,
            -32009,
            "the document was saved in between: `expected`, `actual`, and the `current` document if there is one",
        ),
        (ErrorKind::AlreadyExists, -32010, "the name (`id`) of `what` is taken"),
        (ErrorKind::InvalidState, -32011, "the object's state does not allow the call"),
        (
            ErrorKind::LogPruned,
            -32012,
            "`since` is older than the log, which begins with `oldest_seq`, newer than its last entry, or of another `instance`; reload",
        ),
        (ErrorKind::TooLarge, -32013, "`actual` bytes exceed the `limit`"),
        (ErrorKind::RateLimited, -32029, "too many requests; retry after `retry_after_ms`"),
        (ErrorKind::LimitReached, -32030, "the `limit` of `what` is reached; retry later"),
        (
            ErrorKind::ProviderFailed,
            -32050,
            "`provider` failed with the HTTP `status`; `retryable` is true if a retry may succeed",
        ),
        (
            ErrorKind::HookFailed,
            -32051,
            "the hook `hook_id`, whose policy is `fail_closed`, failed in `phase`",
        ),
    ];

    /// Returns the JSON-RPC error code.
    pub fn code(self) -> i32 {
        // A kind without a row would be reported as an internal error.
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or(-32603, |(_, code, _)| *code)
    }

    /// Returns the kind of a JSON-RPC error code, or `None` if it is unknown.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::TABLE.iter().find(|(_, known, _)| *known == code).map(|(kind, ..)| *kind)
    }
}

/// An error with advice.
///
/// The hint is a separate value that becomes text only where a person or model reads it. Each line is one
/// piece of advice.
pub trait Hint: std::error::Error {
    /// Returns the advice, if there is any.
    fn hint(&self) -> Option<Cow<'_, str>>;

    /// Returns the message followed by the hint.
    fn with_hint(&self) -> String {
        with_hint(self.to_string(), self.hint().as_deref())
    }
}

/// Appends each line of a hint to a message, prefixed with `hint: `.
pub fn with_hint(message: impl Into<String>, hint: Option<&str>) -> String {
    let mut text = message.into();
    for line in hint.unwrap_or_default().lines() {
        text.push_str("\nhint: ");
        text.push_str(line);
    }
    text
}

/// Subject of an error, as named in `error.data.what`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, Display, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ErrorSubject {
    /// A workspace.
    Workspace,
    /// A folder of the thread tree.
    Folder,
    /// A thread.
    Thread,
    /// A version of a document.
    Revision,
    /// An access token, by name.
    Token,
    /// A turn.
    Turn,
    /// A pending approval.
    Approval,
    /// Manifest of a round's prompt.
    Manifest,
    /// Text of a past prompt, by its SHA-256.
    PromptText,
    /// A memory item.
    MemoryItem,
    /// A skill, by its slug.
    Skill,
    /// An MCP server, by name.
    McpServer,
    /// A provider, by name.
    Provider,
    /// Calls in a batch.
    Batch,
    /// Connections to a gateway.
    Connections,
    /// Connections with one token.
    TokenConnections,
    /// Sessions of MCP clients.
    McpSessions,
    /// Running turns of a gateway.
    Turns,
    /// Running turns of a workspace.
    WorkspaceTurns,
    /// Turns waiting for their thread.
    WaitingTurns,
    /// Tokens used by a workspace per day.
    TokensPerDay,
    /// A subject that only a newer gateway knows.
    #[serde(other)]
    Other,
}

impl ErrorSubject {
    /// Returns the subject as words for a sentence.
    pub fn words(self) -> std::borrow::Cow<'static, str> {
        match self {
            // The wire names of these two would not read well in a sentence.
            Self::MemoryItem => "item of memory".into(),
            Self::McpServer => "MCP server".into(),
            other => other.to_string().replace('_', " ").into(),
        }
    }
}

/// Cause of an internal error, as named in `error.data.reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InternalReason {
    /// The database's disk is full.
    DiskFull,
    /// The database does not respond at the moment; a retry may succeed.
    DatabaseUnavailable,
    /// The database rejected a statement.
    DatabaseFailed,
    /// A handler panicked.
    Panic,
    /// A stored manifest is unreadable.
    Manifest,
    /// Another stored value is unreadable.
    Stored,
    /// The stored text of a past prompt does not match its hash.
    PromptAltered,
    /// A reason that only a newer gateway knows.
    #[serde(other)]
    Other,
}

/// The `error` member of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ErrorObject {
    /// Error code listed in the reference.
    pub code: i32,
    /// Description of the failure and what it affected.
    pub message: String,
    /// Structured details and advice.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_data")]
    pub data: Option<Box<ErrorData>>,
}

impl ErrorObject {
    /// Creates an error of a kind without details.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with(kind, message, |_| {})
    }

    /// Creates an error of a kind and sets its details.
    pub fn with(kind: ErrorKind, message: impl Into<String>, add: impl FnOnce(&mut ErrorData)) -> Self {
        let mut data = Box::new(ErrorData::new(kind));
        add(&mut data);
        Self { code: kind.code(), message: message.into(), data: Some(data) }
    }

    /// Returns the kind, or `None` if only a newer gateway knows it.
    pub fn kind(&self) -> Option<ErrorKind> {
        // The code is the fallback, since other implementations of JSON-RPC send errors without data.
        self.data.as_ref().map(|data| data.kind).or_else(|| ErrorKind::from_code(self.code))
    }
}

/// Reads the details, or drops those of an unknown kind. Code and message remain.
// A client may be older than the gateway. Failing to parse the details would replace a readable error by a
// protocol error.
fn known_data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<ErrorData>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Data {
        Known(Box<ErrorData>),
        Unknown(IgnoredAny),
    }
    Ok(match Option::deserialize(deserializer)? {
        Some(Data::Known(data)) => Some(data),
        Some(Data::Unknown(IgnoredAny)) | None => None,
    })
}

/// The `error.data` member: a kind and its details.
// One struct with optional fields instead of an enum per kind: older clients read the fields they know from
// kinds they do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Advice, one piece per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Cause of an internal error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<InternalReason>,
    /// Weakest role that may make the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_role: Option<Role>,
    /// Subject of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<ErrorSubject>,
    /// Id or name of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Version expected by the caller.
    // Both versions are returned, so that a client with several saves in flight knows which one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Version>,
    /// Current version (0 if there is no document), or actual number of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// Current document; absent if there is none.
    // The current document travels with the conflict, so that a client can merge without another request
    // that could race again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Box<Document>>,
    /// Limit in bytes, or for `what`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Oldest change in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<Sequence>,
    /// Milliseconds until a retry may succeed.
    // A duration and not a time, because the clocks of client and gateway may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The provider that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// HTTP status of the provider's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if the same call could succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The hook that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// Phase in which it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl ErrorData {
    /// Creates details with only a kind.
    pub fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            hint: None,
            reason: None,
            needed_role: None,
            what: None,
            id: None,
            expected: None,
            actual: None,
            current: None,
            limit: None,
            oldest_seq: None,
            retry_after_ms: None,
            provider: None,
            status: None,
            retryable: None,
            hook_id: None,
            phase: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_follow_the_message_line_by_line() {
        assert_eq!(with_hint("no", None), "no");
        assert_eq!(with_hint("no", Some("a\nb")), "no\nhint: a\nhint: b");
    }

    #[test]
    fn unknown_subjects_and_reasons_are_readable() {
        // A client that is older than its gateway meets such values after every extension of these lists.
        let data = r#"{"kind":"internal_error","what":"planet","reason":"eclipse"}"#;
        let data: ErrorData = serde_json::from_str(data).unwrap();
        assert_eq!((data.what, data.reason), (Some(ErrorSubject::Other), Some(InternalReason::Other)));
    }

    #[test]
    fn errors_of_unknown_kinds_are_readable() {
        let error = r#"{"code":-32099,"message":"no","data":{"kind":"eclipse"}}"#;
        let error: ErrorObject = serde_json::from_str(error).unwrap();
        assert_eq!((error.message.as_str(), &error.data, error.kind()), ("no", &None, None));
    }

    #[test]
    fn codes_map_back_to_their_kind() {
        for (kind, code, _) in ErrorKind::TABLE {
            assert_eq!(kind.code(), *code);
            assert_eq!(ErrorKind::from_code(*code), Some(*kind));
        }
    }
}
