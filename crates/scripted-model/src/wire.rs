//! The three APIs from the server's side.

mod chat_completions;
mod messages;
mod responses;

use serde_json::{Value, json};

use crate::answer::{ErrorAnswer, Script};

/// API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    Anthropic,
    Openai,
    OpenaiCompatible,
}

impl Wire {
    pub const ALL: &[Self] = &[Self::Anthropic, Self::Openai, Self::OpenaiCompatible];

    /// Returns the API of a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/responses" => Some(Self::Openai),
            "/v1/chat/completions" => Some(Self::OpenaiCompatible),
            _ => None,
        }
    }

    /// Returns the path at the end of the API's base URL.
    pub(crate) fn base_path(self) -> &'static str {
        match self {
            // Clients append the path of the method. Anthropic's paths contain the version themselves, while the base
            // URLs of the other two end with it.
            Self::Anthropic => "",
            Self::Openai | Self::OpenaiCompatible => "/v1",
        }
    }

    /// Returns an answer as encoded events.
    pub(crate) fn events(self, script: &Script) -> Vec<Vec<u8>> {
        match self {
            Self::Anthropic => messages::events(script),
            Self::Openai => responses::events(script),
            Self::OpenaiCompatible => chat_completions::events(script),
        }
    }

    /// Returns an answer as one value.
    pub(crate) fn whole(self, script: &Script) -> Value {
        match self {
            Self::Anthropic => messages::whole(script),
            Self::Openai => responses::whole(script),
            Self::OpenaiCompatible => chat_completions::whole(script),
        }
    }

    /// Returns status and body of an error.
    pub(crate) fn error(self, error: ErrorAnswer) -> (u16, Value) {
        match self {
            Self::Anthropic => anthropic_error(error),
            Self::Openai => openai_error(error),
            Self::OpenaiCompatible => compatible_error(error),
        }
    }
}

fn anthropic_error(error: ErrorAnswer) -> (u16, Value) {
    let (status, kind, message) = match error {
        ErrorAnswer::ContextTooLong => {
            (400, "invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum")
        }
        ErrorAnswer::WrongKey => (401, "authentication_error", "invalid x-api-key"),
        ErrorAnswer::UnknownModel => (404, "not_found_error", "model: claude-nothing"),
        ErrorAnswer::RateLimited => (429, "rate_limit_error", "This request would exceed your rate limit"),
        ErrorAnswer::QuotaUsedUp => (402, "billing_error", "Your credit balance is too low"),
        ErrorAnswer::Failure(529) => (529, "overloaded_error", "Overloaded"),
        ErrorAnswer::Failure(status) => (status, "api_error", "Internal server error"),
    };
    (status, json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" }))
}

fn openai_error(error: ErrorAnswer) -> (u16, Value) {
    let (status, kind, code, message) = match error {
        ErrorAnswer::ContextTooLong => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        ErrorAnswer::WrongKey => {
            (401, "invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided")
        }
        ErrorAnswer::UnknownModel => {
            (404, "invalid_request_error", Some("model_not_found"), "The model does not exist")
        }
        ErrorAnswer::RateLimited => (429, "requests", Some("rate_limit_exceeded"), "Rate limit reached"),
        ErrorAnswer::QuotaUsedUp => {
            (429, "insufficient_quota", Some("insufficient_quota"), "You exceeded your current quota")
        }
        ErrorAnswer::Failure(status) => (status, "server_error", None, "The server had an error"),
    };
    (status, json!({ "error": { "message": message, "type": kind, "param": null, "code": code } }))
}

/// Returns errors as llama.cpp, vLLM and Ollama write them.
fn compatible_error(error: ErrorAnswer) -> (u16, Value) {
    match error {
        ErrorAnswer::ContextTooLong => (
            400,
            json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 4476, "n_ctx": 4096,
                "message": "request (4476 tokens) exceeds the available context size (4096 tokens)" } }),
        ),
        ErrorAnswer::WrongKey => (401, json!({ "error": "Unauthorized" })),
        ErrorAnswer::UnknownModel => {
            (404, json!({ "error": { "message": "model \"nothing\" not found, try pulling it first" } }))
        }
        ErrorAnswer::RateLimited => {
            (429, json!({ "object": "error", "message": "Too many requests", "code": 429 }))
        }
        ErrorAnswer::QuotaUsedUp => {
            (402, json!({ "error": { "message": "Insufficient credits", "code": 402 } }))
        }
        ErrorAnswer::Failure(status) => (status, json!({ "detail": "Internal Server Error" })),
    }
}

/// Encodes an event with a name.
fn named(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

/// Encodes an event without a name.
fn unnamed(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}
