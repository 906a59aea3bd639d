//! Errors as JSON-RPC puts them on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::BatchLimits;

/// The codes that JSON-RPC itself defines, and those that framing needs.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The message is not a request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    pub const INTERNAL_ERROR: i32 = -32603;
    /// The message is over the size limit.
    pub const TOO_LARGE: i32 = -32013;
    /// There is more than is allowed at once.
    pub const LIMIT_REACHED: i32 = -32030;
}

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct Error {
    /// What kind of error it is.
    pub code: i32,
    /// What happened, for people.
    pub message: String,
    /// What happened, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    /// An error with the data that programs read.
    pub fn new(code: i32, message: impl Into<String>, data: Value) -> Self {
        Self { code, message: message.into(), data: Some(data) }
    }

    /// The message is not JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message, json!({ "kind": "parse_error" }))
    }

    /// The message is JSON, but not a request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message, json!({ "kind": "invalid_request" }))
    }

    /// There is no such method.
    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("there is no method `{shown}`"),
            json!({ "kind": "method_not_found" }),
        )
    }

    /// The parameters do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message, json!({ "kind": "invalid_params" }))
    }

    /// The message is over the size limit.
    pub fn too_large(limit: usize, actual: usize) -> Self {
        Self::new(
            code::TOO_LARGE,
            format!("the message has {actual} bytes, the limit is {limit}"),
            json!({ "kind": "too_large", "limit": limit, "actual": actual }),
        )
    }

    /// A batch has too many calls; none of them was made.
    pub fn batch_too_long(limit: usize, actual: usize) -> Self {
        Self::new(
            code::LIMIT_REACHED,
            format!("a batch has at most {limit} calls, this one has {actual}; none of them was made"),
            json!({ "kind": "limit_reached", "what": "batch", "limit": limit, "actual": actual }),
        )
    }

    /// A call of a batch was made, but its answer does not fit beside the others.
    pub fn answer_too_large(limits: BatchLimits, actual: usize, left: usize) -> Self {
        let limit = limits.answer_bytes;
        Self::new(
            code::TOO_LARGE,
            format!(
                "the call was made, but its answer has {actual} bytes and {left} are left of the {limit} that \
                 the answers of a batch may have"
            ),
            json!({ "kind": "too_large", "limit": limit, "actual": actual, "hint": "make the call alone" }),
        )
    }

    /// A method panicked; the details are in the log, not on the wire.
    pub fn panicked(method: &str) -> Self {
        Self::new(
            code::INTERNAL_ERROR,
            format!("`{method}` failed unexpectedly; the gateway's log has the details"),
            json!({ "kind": "internal_error", "reason": "panic" }),
        )
    }
}
