//! How each API wants a request, and what it answers. An adapter only translates: it neither waits nor retries.

mod anthropic;
mod openai;
mod openai_compatible;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::assembly::Assembly;
use crate::error::Fault;
use crate::sse::SseEvent;
use crate::{Block, ChatRequest, Message, ModelRules, ProviderKind, Role};

/// One API.
pub(crate) trait Adapter: Send + Sync {
    /// What follows the base URL.
    fn path(&self) -> &'static str;
    /// Headers beside those of every request.
    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, Fault>;
    /// The request's body.
    fn body(&self, request: &ChatRequest, rules: &ModelRules) -> Value;
    /// Something that reads one answer.
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads one answer.
pub(crate) trait Decoder: Send {
    /// Takes an event. Kinds of events that are not known are none of our business.
    fn event(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<Step, Fault>;

    /// The answer ended without the event that ends one. Whether that is all right depends on the API.
    fn end(&mut self, assembly: &mut Assembly) -> Result<(), Fault>;
}

/// Whether an answer is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    GoOn,
    Done,
}

/// The adapter of a kind.
pub(crate) fn of(kind: ProviderKind) -> &'static dyn Adapter {
    match kind {
        ProviderKind::Anthropic => &anthropic::Anthropic,
        ProviderKind::Openai => &openai::Openai,
        ProviderKind::OpenaiCompatible => &openai_compatible::OpenaiCompatible,
    }
}

/// An event's data as JSON.
fn parse(event: &SseEvent) -> Result<Value, Fault> {
    serde_json::from_str(&event.data)
        .map_err(|error| Fault::malformed(format!("an event of the answer is not JSON: {error}")))
}

/// The text at a place, or nothing.
fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, place: &str) -> Option<u64> {
    value.pointer(place).and_then(Value::as_u64)
}

/// A header that is not shown.
fn secret_header(name: HeaderName, prefix: &str, key: &SecretString) -> Result<HeaderMap, Fault> {
    let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret()));
    let mut value = value.map_err(|_| {
        Fault::new(
            crate::ErrorKind::Configuration,
            "the key contains characters that no key has\nhint: it was perhaps copied with something around it",
        )
    })?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(name, value)]))
}

/// The provider's own reasoning of a message that belongs to the present turn and model; nobody else can use it.
fn reasoning_values<'a>(
    request: &'a ChatRequest,
    kind: ProviderKind,
) -> impl Fn(usize, &'a Block) -> Option<&'a Value> {
    let opening = request.messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    let model = request.model.as_str();
    move |index, block| match block {
        Block::Reasoning(reasoning)
            if index > opening && reasoning.kind == kind && reasoning.model == model =>
        {
            Some(&reasoning.value).filter(|value| value.is_object())
        }
        _ => None,
    }
}

/// The texts of a message that are not empty; APIs refuse empty ones.
fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    })
}
