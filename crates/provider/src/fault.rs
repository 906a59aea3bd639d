//! Classifies provider errors by their common features.
//!
//! Each provider has its own error format, and servers that imitate an API do so loosely. All formats are therefore searched
//! for the same codes and phrases.

use serde_json::Value;

use crate::error::Fault;
use crate::{ContextOverrun, ErrorKind};

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
    // LiteLLM puts the name of its exception before the message of the server behind it.
    "contextwindowexceedederror",
];

/// Phrases before the number of tokens that a model accepts.
const BEFORE_LIMIT: &[&str] = &["maximum context length is ", "available context size (", "tokens > ", " > "];
/// Phrases before the number of tokens of the rejected request.
const BEFORE_REQUEST: &[&str] = &["too long: ", "request (", "resulted in ", "context limit: "];

/// Deepest nesting of errors inside the text of an error.
const MAX_NESTED: usize = 3;

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
    let value = serde_json::from_str(&text).ok().or_else(|| streamed(&text));
    let value = value.unwrap_or_else(|| Value::String(text.into_owned()));
    let mut fault = classify(Some(status), &value);
    fault.status = Some(status);
    fault
}

/// Returns the error in a body of events, which proxies send even with an error status.
fn streamed(text: &str) -> Option<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).find(Value::is_object)
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
    let kind = word("code").or_else(|| word("type"));
    // A code for a general failure is less precise than the message of the server behind a proxy.
    let kind = kind.filter(|kind| *kind != ErrorKind::Server).or_else(too_long).or(kind);
    let kind = kind.unwrap_or_else(|| of_status(status));
    // These statuses are more precise as well.
    let kind = match (kind, of_status(status)) {
        (ErrorKind::Server, busy @ (ErrorKind::Overloaded | ErrorKind::RateLimited)) => busy,
        _ => kind,
    };
    let title =
        TITLES.iter().find(|(titled, _)| *titled == kind).map_or("the provider failed", |(_, title)| title);
    let fault = if message.is_empty() {
        Fault::new(kind, title)
    } else {
        Fault::new(kind, format!("{title}: {message}"))
    };
    if kind != ErrorKind::ContextTooLong {
        return fault;
    }
    Fault { overrun: overrun(error, &lowercase), ..fault }
}

/// Returns the sizes that a server names for a request that is too long.
fn overrun(error: &Value, message: &str) -> Option<ContextOverrun> {
    let field = |name: &str| error.get(name).and_then(Value::as_u64);
    let limit =
        field("n_ctx").or_else(|| BEFORE_LIMIT.iter().find_map(|phrase| number_after(message, phrase)))?;
    let request = BEFORE_REQUEST.iter().find_map(|phrase| number_after(message, phrase));
    Some(ContextOverrun { limit, request: field("n_prompt_tokens").or(request) })
}

fn number_after(text: &str, phrase: &str) -> Option<u64> {
    let (_, rest) = text.split_once(phrase)?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
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
    let line = unwrapped(text, MAX_NESTED).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns a message with the text of the error that it quotes, instead of the raw event or JSON.
fn unwrapped(text: &str, depth: usize) -> String {
    let quoted = || {
        let start = text.find('{')?;
        // The error may be followed by the rest of the event.
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
        let inner = error.get("message").or(Some(error)).and_then(Value::as_str)?;
        let before = text[..start].trim_end().trim_end_matches("data:").trim_end();
        let before = before.trim_end_matches("event: error").trim_end();
        let inner = if depth == 0 { inner.to_owned() } else { unwrapped(inner, depth - 1) };
        Some(if before.is_empty() { inner } else { format!("{before} {inner}") })
    };
    quoted().unwrap_or_else(|| text.to_owned())
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
            (
                500,
                r#"{"error":{"message":"litellm.ContextWindowExceededError: OpenAIException - too much","type":"api_error","code":"500"}}"#,
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
    fn sizes_of_requests_that_are_too_long_are_read() {
        let of = |message: &str| {
            let body = serde_json::json!({ "error": { "message": message } });
            of_answer(400, body.to_string().as_bytes()).overrun.map(|it| (it.request, it.limit))
        };
        for (message, expected) in [
            ("prompt is too long: 200251 tokens > 200000 maximum", Some((Some(200_251), 200_000))),
            (
                "request (4476 tokens) exceeds the available context size (4096 tokens)",
                Some((Some(4_476), 4_096)),
            ),
            (
                "This model's maximum context length is 16384 tokens. However, your messages resulted in 20000 tokens",
                Some((Some(20_000), 16_384)),
            ),
            ("Your input exceeds the context window of this model.", None),
        ] {
            assert_eq!(of(message), expected, "{message}");
        }
    }

    #[test]
    fn errors_of_proxies_are_shown_as_text() {
        let said = |body: &str| of_answer(500, body.as_bytes()).message;
        assert_eq!(
            said("event: error\ndata: {\"error\":{\"message\":\"no such tool\"}}\n\n"),
            "the provider failed: no such tool"
        );
        assert_eq!(
            said(
                r#"{"error":{"message":"litellm.APIError: data: {\"error\":{\"message\":\"no such tool\"}}\n\n"}}"#
            ),
            "the provider failed: litellm.APIError: no such tool"
        );
        assert_eq!(said("a { b"), "the provider failed: a { b");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let fault = of_answer(400, "ä\n".repeat(2000).as_bytes());
        assert!(fault.message.ends_with("ä…") || fault.message.ends_with(" …"), "{}", fault.message);
        assert!(fault.message.chars().count() < MAX_MESSAGE_CHARS + 60);
    }
}
