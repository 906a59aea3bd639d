//! Translation between our requests and each API. An adapter only translates: it neither waits nor retries.

mod anthropic;
mod openai;
mod openai_compatible;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::chat::assembly::Assembly;
use crate::error::Fault;
use crate::transport::sse::SseEvent;
use crate::{
    Block, ChatRequest, MessageRole, ModelRules, ProviderKind, Reasoning, ToolCall, ToolResult, fault,
};

pub(crate) trait Adapter: Send + Sync {
    /// Returns the path after the base URL.
    fn path(&self) -> &'static str;
    /// Returns the headers that this API needs in addition to the common ones.
    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, Fault>;
    fn body(&self, request: &ChatRequest, rules: &ModelRules) -> Value;
    /// Returns a decoder for one answer.
    fn decoder(&self) -> Box<dyn Decoder>;
}

pub(crate) trait Decoder: Send {
    /// Decodes an event. Unknown kinds are ignored.
    fn event(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<DecodeStep, Fault>;

    /// Handles an answer that ended without the final event. It depends on the API whether this is an error.
    fn end(&mut self, assembly: &mut Assembly) -> Result<(), Fault>;

    /// Decodes an answer that came as one value, as the API returns it without streaming. Some proxies return it even if a
    /// stream was requested.
    fn whole(&mut self, value: &Value, assembly: &mut Assembly) -> Result<(), Fault>;
}

/// State of an answer after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeStep {
    Continue,
    Done,
}

/// Returns the adapter of a kind.
pub(crate) fn of(kind: ProviderKind) -> &'static dyn Adapter {
    match kind {
        ProviderKind::Anthropic => &anthropic::Anthropic,
        ProviderKind::Openai => &openai::Openai,
        ProviderKind::OpenaiCompatible => &openai_compatible::OpenaiCompatible,
    }
}

/// Parses an event's data as JSON, or returns the error that it reports.
fn parse(event: &SseEvent) -> Result<Value, Fault> {
    let is_error = event.name == "error";
    let value: Value = match serde_json::from_str(&event.data) {
        Ok(value) => value,
        // Proxies report failures of the server behind them as plain text.
        Err(_) if is_error => Value::String(event.data.clone()),
        Err(error) => {
            return Err(Fault::malformed(format!("an event of the answer is not JSON: {error}")));
        }
    };
    // Each API has an event for errors, but proxies in front of it send the error alone.
    let is_bare = value.get("type").is_none() && value.get("error").is_some_and(|error| !error.is_null());
    if is_error || is_bare { Err(fault::of_event(&value)) } else { Ok(value) }
}

/// Returns the text at a JSON pointer, or an empty one.
fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, place: &str) -> Option<u64> {
    value.pointer(place).and_then(Value::as_u64)
}

/// Returns a header that is never shown.
fn secret_header(name: HeaderName, prefix: &str, key: &SecretString) -> Result<HeaderMap, Fault> {
    let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret()));
    let mut value = value.map_err(|_| {
        Fault::new(crate::ErrorKind::Configuration, "the key contains characters that no key has")
            .with_hint("check whether surrounding characters were copied with it")
    })?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(name, value)]))
}

/// A part of a message to send.
#[derive(Debug, Clone, Copy)]
enum MessagePart<'a> {
    Text(&'a str),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
    /// A reasoning block in the provider's own format.
    Reasoning(&'a Value),
}

/// Returns the messages to send, each with its parts. Neighboring messages of one side are joined.
///
/// Empty texts are left out, because APIs reject them. Reasoning is sent only if it can be used: to the API and the model
/// that it came from, and if something follows it. It is sent in later turns, too: leaving it out then would break the
/// prefix that a provider has cached.
fn outgoing(request: &ChatRequest, kind: ProviderKind) -> Vec<(MessageRole, Vec<MessagePart<'_>>)> {
    // Reasoning blocks are signed or encrypted by the model that wrote them. Another API cannot parse them, and another
    // model of the same API rejects the signature.
    let own = move |reasoning: &Reasoning| {
        reasoning.kind == kind && reasoning.model == request.model && reasoning.value.is_object()
    };
    let preamble = (!request.preamble.trim().is_empty())
        .then(|| (MessageRole::User, vec![MessagePart::Text(request.preamble.as_str())]));
    let messages = request.messages.iter().filter_map(move |message| {
        let parts = message.blocks.iter().filter_map(|block| match block {
            Block::Text { text } if text.trim().is_empty() => None,
            Block::Text { text } => Some(MessagePart::Text(text)),
            Block::ToolCall(call) => Some(MessagePart::Call(call)),
            Block::ToolResult(result) => Some(MessagePart::Result(result)),
            Block::Reasoning(reasoning) => own(reasoning).then_some(MessagePart::Reasoning(&reasoning.value)),
        });
        let mut parts: Vec<MessagePart<'_>> = parts.collect();
        // APIs reject a message that ends with reasoning, which is left over when a call after it was cut off.
        while let Some(MessagePart::Reasoning(_)) = parts.last() {
            parts.pop();
        }
        // APIs require the results of calls directly after the calls.
        parts
            .sort_by_key(|part| message.role == MessageRole::Tool && !matches!(part, MessagePart::Result(_)));
        (!parts.is_empty()).then_some((message.role, parts))
    });
    let mut joined: Vec<(MessageRole, Vec<MessagePart<'_>>)> = Vec::new();
    for (role, parts) in preamble.into_iter().chain(messages) {
        match joined.last_mut() {
            // The templates of some models reject two messages of one side in a row, such as a summary and a question.
            // Results belong to the calls before them, so they always begin a message.
            Some((last, earlier)) if is_same_side(*last, role) && results(&parts[..1]).next().is_none() => {
                earlier.extend(parts);
            }
            _ => joined.push((role, parts)),
        }
    }
    joined
}

/// Returns true if both roles are of the model, or both of the user, who also sends the results of calls.
fn is_same_side(one: MessageRole, other: MessageRole) -> bool {
    (one == MessageRole::Assistant) == (other == MessageRole::Assistant)
}

/// Returns the texts among parts.
fn texts<'a>(parts: &[MessagePart<'a>]) -> impl Iterator<Item = &'a str> {
    parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(*text),
        _ => None,
    })
}

/// Returns the tool results among parts.
fn results<'a>(parts: &[MessagePart<'a>]) -> impl Iterator<Item = &'a ToolResult> {
    parts.iter().filter_map(|part| match part {
        MessagePart::Result(result) => Some(*result),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Field names known to decoders, so that random events get past their first check.
    const NAMES: &[&str] = &[
        "type",
        "index",
        "delta",
        "message",
        "content_block",
        "usage",
        "text",
        "id",
        "name",
        "input",
        "item",
        "response",
        "output_index",
        "arguments",
        "choices",
        "tool_calls",
        "function",
        "reasoning_details",
        "error",
    ];
    const WORDS: &[&str] = &[
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_stop",
        "tool_use",
        "thinking",
        "input_json_delta",
        "signature_delta",
        "redacted_thinking",
        "response.output_item.added",
        "function_call",
        "response.function_call_arguments.delta",
        "response.output_item.done",
        "response.completed",
        "reasoning",
        "ä",
    ];

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop_oneof![0u64..3, any::<u64>()].prop_map(Value::from),
            proptest::sample::select(WORDS).prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            let fields = proptest::collection::vec((proptest::sample::select(NAMES), inner.clone()), 0..6);
            prop_oneof![
                proptest::collection::vec(inner, 0..3).prop_map(Value::from),
                fields.prop_map(|fields| {
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()
                }),
            ]
        })
    }

    fn event() -> impl Strategy<Value = Value> {
        (proptest::sample::select(WORDS), 0u64..3, value(), value(), value()).prop_map(|(kind, index, a, b, c)| {
            json!({ "type": kind, "index": index, "output_index": index, "delta": a, "content_block": b, "item": b,
                "message": c, "response": c, "choices": [{ "delta": a, "finish_reason": c }] })
        })
    }

    proptest! {
        #[test]
        fn no_event_makes_a_decoder_panic(events in proptest::collection::vec(prop_oneof![event(), value()], 0..12)) {
            for kind in [ProviderKind::Anthropic, ProviderKind::Openai, ProviderKind::OpenaiCompatible] {
                let mut decoder = of(kind).decoder();
                let mut assembly = Assembly::new(kind, "m".to_owned(), 1_000);
                let mut whole = String::new();
                for event in &events {
                    let event = SseEvent { name: String::new(), data: event.to_string() };
                    let step = decoder.event(&event, &mut assembly);
                    for event in assembly.take_events() {
                        if let crate::ChatEvent::TextDelta { text } = event {
                            whole.push_str(&text);
                        }
                    }
                    if step != Ok(DecodeStep::Continue) {
                        break;
                    }
                }
                let _ = decoder.end(&mut assembly);
                // Texts of one block are joined, so their order among blocks may differ, but nothing is lost.
                let mut streamed: Vec<char> = whole.chars().collect();
                let mut kept: Vec<char> = assembly.into_response().message.text().chars().collect();
                streamed.sort_unstable();
                kept.sort_unstable();
                prop_assert_eq!(streamed, kept);
            }
        }
    }
}
