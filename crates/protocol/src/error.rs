//! Error codes: one table that the gateway, the clients and the reference read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// The `error` member of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorObject {
    /// One of the codes of the reference.
    pub code: i32,
    /// What happened, to what, and what to do.
    pub message: String,
    /// The same for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// The `error.data` member: always a kind, and what that kind adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// What went wrong.
    pub kind: ErrorKind,
    /// What the gateway failed of: `disk_full`, `database_unavailable`, `panic`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The weakest role that may do this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_role: Option<Role>,
    /// What was looked for: `workspace`, `folder`, `thread`, `revision`, `token`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
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
    /// Most bytes allowed.
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
    fn codes_are_unique_and_found_again() {
        for (kind, code, _) in ErrorKind::TABLE {
            assert_eq!(kind.code(), *code);
            assert_eq!(ErrorKind::from_code(*code), Some(*kind));
        }
    }
}
