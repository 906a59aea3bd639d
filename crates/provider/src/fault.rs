//! Classifies provider errors by their common features.
//!
//! Each provider has its own error format, and servers that imitate an API do so loosely. All formats are therefore searched
//! for the same codes and phrases.

use serde_json::Value;

use crate::ErrorKind;
use crate::error::Fault;

/// Most characters kept of a provider's message.
const MAX_MESSAGE_CHARS: usize = 600;

/// Codes and types of errors of all providers.
const WORDS: &[(&str, ErrorKind)] = &[
    ("context_length_exceeded", ErrorKind::ContextTooLong),
    ("exceed_context_size_error", ErrorKind::ContextTooLong),
    ("request_too_large", ErrorKind::ContextTooLong),
    ("insufficient_quota", ErrorKind::Quota),
    ("billing_error", ErrorKind::Quota),
    ("billing_hard_limit_reached", ErrorKind::Quota),
    ("invalid_api_key", ErrorKind::Authentication),
    ("authentication_error", ErrorKind::Authentication),
    ("permission_error", ErrorKind::Authentication),
    ("model_not_found", ErrorKind::NotFound),
    ("not_found_error", ErrorKind::NotFound),
    ("rate_limit_exceeded", ErrorKind::RateLimited),
    ("rate_limit_error", ErrorKind::RateLimited),
    ("overloaded_error", ErrorKind::Overloaded),
    ("server_is_overloaded", ErrorKind::Overloaded),
    ("slow_down", ErrorKind::Overloaded),
    ("api_error", ErrorKind::Server),
    ("server_error", ErrorKind::Server),
    ("timeout_error", ErrorKind::Server),
];

/// Phrases for a prompt that is too long, for servers without a code for it.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the context length",
    "exceeds the model's context",
    "exceed the context window",
    "context length exceeded",
];

/// Description of each kind, followed by the provider's message.
const TITLES: &[(ErrorKind, &str)] = &[
    (ErrorKind::Authentication, "the key was not accepted"),
    (ErrorKind::Quota, "the account has no quota left"),
    (ErrorKind::NotFound, "there is no such model or address"),
    (ErrorKind::InvalidRequest, "the request was not accepted"),
    (ErrorKind::ContextTooLong, "the request is longer than the model's context"),
    (ErrorKind::RateLimited, "too many requests"),
    (ErrorKind::Overloaded, "the provider is overloaded"),
    (ErrorKind::Server, "the provider failed"),
];

/// Classifies an answer with an error status.
pub(crate) fn of_answer(status: u16, body: &[u8]) -> Fault {
    let text = String::from_utf8_lossy(body);
    let value = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
    let mut fault = classify(Some(status), &value);
    fault.status = Some(status);
    fault
}

/// Classifies an error inside an answer.
pub(crate) fn of_event(value: &Value) -> Fault {
    // Some servers put the HTTP status into the error, because the real one was sent before the failure.
    let code = ["/error/code", "/code"].iter().find_map(|place| value.pointer(place)?.as_u64());
    let status = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    classify(status, value)
}

fn classify(status: Option<u16>, value: &Value) -> Fault {
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let message = message(error, value);
    let lowercase = message.to_lowercase();
    let word = |name: &str| {
        let word = error.get(name)?.as_str()?;
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    };
    let too_long = || {
        // Phrases are only searched where a prompt that is too long is plausible. A message of a busy server may
        // mention the context length as well.
        let possible = status.is_none_or(|status| matches!(status, 400 | 413 | 422 | 500));
        let matches_phrase = TOO_LONG.iter().any(|phrase| lowercase.contains(phrase));
        (possible && matches_phrase).then_some(ErrorKind::ContextTooLong)
    };
    let kind = word("code").or_else(|| word("type")).or_else(too_long).unwrap_or_else(|| of_status(status));
    // A code for a general failure is less precise than these statuses.
    let kind = match (kind, of_status(status)) {
        (ErrorKind::Server, busy @ (ErrorKind::Overloaded | ErrorKind::RateLimited)) => busy,
        _ => kind,
    };
    let title =
        TITLES.iter().find(|(titled, _)| *titled == kind).map_or("the provider failed", |(_, title)| title);
    if message.is_empty() { Fault::new(kind, title) } else { Fault::new(kind, format!("{title}: {message}")) }
}

fn of_status(status: Option<u16>) -> ErrorKind {
    match status {
        Some(401 | 403) => ErrorKind::Authentication,
        Some(402) => ErrorKind::Quota,
        Some(404) => ErrorKind::NotFound,
        Some(413) => ErrorKind::ContextTooLong,
        Some(429) => ErrorKind::RateLimited,
        Some(503 | 529) => ErrorKind::Overloaded,
        // The request took too long to arrive or conflicted with another one; both are worth a retry.
        Some(408 | 409) => ErrorKind::Server,
        Some(300..500) => ErrorKind::InvalidRequest,
        _ => ErrorKind::Server,
    }
}

/// Returns the provider's message in one line.
fn message(error: &Value, whole: &Value) -> String {
    // The error itself may be a plain text, as with Ollama. `detail` is the field of FastAPI, on which many local
    // servers are built.
    let places = [error.get("message"), Some(error), error.get("detail"), whole.get("message")];
    let text = places.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_real_providers_are_classified() {
        use ErrorKind::*;
        for (status, body, expected) in [
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
                ContextTooLong,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (4476 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error","n_ctx":4096}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens","type":"BadRequestError","code":400}"#,
                ContextTooLong,
            ),
            (400, r#"{"error":"tools are not supported"}"#, InvalidRequest),
            (401, r#"{"error":{"code":"invalid_api_key"}}"#, Authentication),
            (403, "", Authentication),
            (404, r#"{"error":{"message":"model \"x\" not found, try pulling it first"}}"#, NotFound),
            (429, r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#, Quota),
            (429, "slow down", RateLimited),
            (529, r#"{"error":{"type":"overloaded_error"}}"#, Overloaded),
            (502, "<html>Bad gateway</html>", Server),
            (307, "", InvalidRequest),
        ] {
            assert_eq!(of_answer(status, body.as_bytes()).kind, expected, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_an_answer_are_classified() {
        let of = |text: &str| of_event(&serde_json::from_str(text).unwrap()).kind;
        assert_eq!(
            of(r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            ErrorKind::Overloaded
        );
        assert_eq!(of(r#"{"error":{"code":429,"message":"upstream"}}"#), ErrorKind::RateLimited);
        assert_eq!(of(r#"{"code":"server_error","message":"x"}"#), ErrorKind::Server);
        assert_eq!(of("{}"), ErrorKind::Server);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let fault = of_answer(400, "ä\n".repeat(2000).as_bytes());
        assert!(fault.message.ends_with("ä…") || fault.message.ends_with(" …"), "{}", fault.message);
        assert!(fault.message.chars().count() < MAX_MESSAGE_CHARS + 60);
    }
}
