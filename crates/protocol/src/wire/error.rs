//! Error codes: one table that the gateway, the clients and the reference read; and how an error carries advice.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use strum::{Display, IntoStaticStr};

use crate::{Document, Role, Sequence, Version};

/// What went wrong, as `error.data.kind` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The message is not JSON.
    ParseError,
    /// The message is JSON, but not a JSON-RPC request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// A parameter is missing, unknown, or of the wrong type.
    InvalidParams,
    /// The gateway failed; `reason` says how where it is known.
    InternalError,
    /// No token, an unknown one, or a revoked one.
    Unauthenticated,
    /// The token's role or workspace does not allow it.
    Forbidden,
    /// There is no such thing, or it is deleted, or it belongs to another workspace.
    NotFound,
    /// Somebody else saved in between.
    VersionConflict,
    /// The name is taken.
    AlreadyExists,
    /// The thing exists, but is not in a state that allows this.
    InvalidState,
    /// The change log does not reach back to what was asked for.
    LogPruned,
    /// A message or a text is over its limit.
    TooLarge,
    /// Too many requests; try again after `retry_after_ms`.
    RateLimited,
    /// There is as much of `what` as is allowed at once, or in a day.
    LimitReached,
    /// A model's provider failed, or there is none.
    ProviderFailed,
    /// A hook that must not fail did.
    HookFailed,
}

impl ErrorKind {
    /// Every kind with its code and what it means: the table of the protocol reference.
    pub const TABLE: &'static [(ErrorKind, i32, &'static str)] = &[
        (ErrorKind::ParseError, -32700, "the message is not JSON"),
        (ErrorKind::InvalidRequest, -32600, "the message is JSON, but not a JSON-RPC 2.0 request"),
        (ErrorKind::MethodNotFound, -32601, "there is no such method"),
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
        (ErrorKind::Unauthenticated, -32001, "no token, an unknown one, or a revoked one"),
        (ErrorKind::Forbidden, -32003, "the token's role (`needed_role`) or workspace does not allow it"),
        (
            ErrorKind::NotFound,
            -32004,
            "`what` with that `id` does not exist, is deleted, or is in another workspace",
        ),
        (
            ErrorKind::VersionConflict,
            -32009,
            "somebody else saved: `expected`, `actual`, and the `current` document if there is one",
        ),
        (ErrorKind::AlreadyExists, -32010, "the name (`id`) of `what` is taken"),
        (ErrorKind::InvalidState, -32011, "the thing exists, but its state does not allow this"),
        (
            ErrorKind::LogPruned,
            -32012,
            "`since` is older than the log, which begins with `oldest_seq`, or newer than anything in it; reload",
        ),
        (ErrorKind::TooLarge, -32013, "`actual` bytes are over the `limit`"),
        (ErrorKind::RateLimited, -32029, "too many requests; try again after `retry_after_ms`"),
        (
            ErrorKind::LimitReached,
            -32030,
            "there is as much of `what` as its `limit` allows; try again later",
        ),
        (
            ErrorKind::ProviderFailed,
            -32050,
            "`provider` cannot be asked: `status` is what it answered, `retryable` whether later may help",
        ),
        (ErrorKind::HookFailed, -32051, "the hook `hook_id` failed in `phase`, and must not"),
    ];

    /// The JSON-RPC error code.
    pub fn code(self) -> i32 {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or(-32603, |(_, code, _)| *code)
    }

    /// The kind that a JSON-RPC error code stands for.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::TABLE.iter().find(|(_, known, _)| *known == code).map(|(kind, ..)| *kind)
    }
}

/// An error that can say what to do about it.
///
/// The hint is a value beside the message, and becomes text only where a person or a model reads it. Each line of it is
/// one piece of advice.
pub trait Hint: std::error::Error {
    /// What to do about it.
    fn hint(&self) -> Option<Cow<'_, str>>;

    /// The message with its hint below it, for somebody who reads text.
    fn with_hint(&self) -> String {
        with_hint(self.to_string(), self.hint().as_deref())
    }
}

/// A message with every line of a hint below it, as a line that begins with `hint: `.
pub fn with_hint(message: impl Into<String>, hint: Option<&str>) -> String {
    let mut text = message.into();
    for line in hint.unwrap_or_default().lines() {
        text.push_str("\nhint: ");
        text.push_str(line);
    }
    text
}

/// What an error is about, as `error.data.what` spells it.
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
    /// An access token, by its name.
    Token,
    /// A turn.
    Turn,
    /// A call that waits for a decision.
    Approval,
    /// What the prompt of a turn's round consisted of.
    Manifest,
    /// A text of a past prompt, by its SHA-256.
    PromptText,
    /// Something that is remembered.
    MemoryItem,
    /// A skill, by its slug.
    Skill,
    /// An MCP server, by its name.
    McpServer,
    /// A provider of models, by its name.
    Provider,
    /// Calls of one batch.
    Batch,
    /// Connections of a gateway.
    Connections,
    /// Connections of one token.
    TokenConnections,
    /// Sessions of MCP clients.
    McpSessions,
    /// Turns that run on a gateway.
    Turns,
    /// Turns that run in a workspace.
    WorkspaceTurns,
    /// Turns that wait for their thread.
    WaitingTurns,
    /// Tokens that a workspace spends in a day.
    TokensPerDay,
    /// Something that only a newer gateway knows.
    #[serde(other)]
    Other,
}

impl ErrorSubject {
    /// What it is called in a sentence.
    pub fn words(self) -> std::borrow::Cow<'static, str> {
        match self {
            Self::MemoryItem => "item of memory".into(),
            Self::McpServer => "MCP server".into(),
            other => other.to_string().replace('_', " ").into(),
        }
    }
}

/// How the gateway failed, as `error.data.reason` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InternalReason {
    /// The disk that holds the database is full.
    DiskFull,
    /// The database does not answer at the moment; another try may succeed.
    DatabaseUnavailable,
    /// The database refused a statement.
    DatabaseFailed,
    /// A method panicked.
    Panic,
    /// A stored manifest cannot be read.
    Manifest,
    /// Something else that is stored cannot be read.
    Stored,
    /// The text kept of a past prompt is not the one that was sent.
    PromptAltered,
    /// A reason that only a newer gateway knows.
    #[serde(other)]
    Other,
}

/// The `error` member of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ErrorObject {
    /// One of the codes of the reference.
    pub code: i32,
    /// What happened, and to what.
    pub message: String,
    /// The same for programs, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_data")]
    pub data: Option<Box<ErrorData>>,
}

impl ErrorObject {
    /// An error of a kind with nothing added.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with(kind, message, |_| {})
    }

    /// An error of a kind with what the kind adds.
    pub fn with(kind: ErrorKind, message: impl Into<String>, add: impl FnOnce(&mut ErrorData)) -> Self {
        let mut data = Box::new(ErrorData::new(kind));
        add(&mut data);
        Self { code: kind.code(), message: message.into(), data: Some(data) }
    }

    /// What went wrong; none where only a newer gateway knows.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.data.as_ref().map(|data| data.kind).or_else(|| ErrorKind::from_code(self.code))
    }
}

/// Data of a kind that only a newer gateway knows is left out: code and message still say what happened.
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

/// The `error.data` member: always a kind, and what that kind adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// What went wrong.
    pub kind: ErrorKind,
    /// What to do about it; each line is one piece of advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How the gateway failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<InternalReason>,
    /// The weakest role that may do this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_role: Option<Role>,
    /// What was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<ErrorSubject>,
    /// The id or name that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version the caller expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Version>,
    /// The version there is (0: none), or the bytes there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// The document as it is now; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Box<Document>>,
    /// Most bytes allowed, or most of `what`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The oldest change that is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_seq: Option<Sequence>,
    /// Milliseconds after which another try may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The provider that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The HTTP status it answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the same call could succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The hook that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// The phase it failed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl ErrorData {
    /// Data of a kind with nothing added.
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
    fn each_line_of_a_hint_is_a_line_below_the_message() {
        assert_eq!(with_hint("no", None), "no");
        assert_eq!(with_hint("no", Some("a\nb")), "no\nhint: a\nhint: b");
    }

    #[test]
    fn what_only_a_newer_gateway_knows_can_be_read() {
        let data = r#"{"kind":"internal_error","what":"planet","reason":"eclipse"}"#;
        let data: ErrorData = serde_json::from_str(data).unwrap();
        assert_eq!((data.what, data.reason), (Some(ErrorSubject::Other), Some(InternalReason::Other)));
    }

    #[test]
    fn an_error_of_a_kind_that_only_a_newer_gateway_knows_can_be_read() {
        let error = r#"{"code":-32099,"message":"no","data":{"kind":"eclipse"}}"#;
        let error: ErrorObject = serde_json::from_str(error).unwrap();
        assert_eq!((error.message.as_str(), &error.data, error.kind()), ("no", &None, None));
    }

    #[test]
    fn codes_are_unique_and_found_again() {
        for (kind, code, _) in ErrorKind::TABLE {
            assert_eq!(kind.code(), *code);
            assert_eq!(ErrorKind::from_code(*code), Some(*kind));
        }
    }
}
