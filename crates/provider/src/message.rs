//! Messages: what was said, called and answered, in no provider's words.
//!
//! They are kept and replayed as history, so they serialise; what a provider wants to see again unchanged (its
//! reasoning) is carried as a value that only its adapter looks into.

use protocol::{MessageRole, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ProviderKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: MessageRole,
    pub blocks: Vec<Block>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    Text {
        text: String,
    },
    /// A tool is called.
    ToolCall(ToolCall),
    /// A tool has answered.
    ToolResult(ToolResult),
    /// The model has thought.
    Reasoning(Reasoning),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The texts of the answer, and what was appended to it.
    pub blocks: Vec<String>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// What a model thought, to be sent back to it within the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// Whose value it is; another kind of provider does not get it.
    pub kind: ProviderKind,
    /// The model that was asked; signatures are worth nothing to another.
    pub model: String,
    /// What may be shown of it; empty when the provider keeps it to itself.
    pub text: String,
    /// The provider's own block, signature and all. Only its adapter looks into it.
    pub value: Value,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, blocks: vec![Block::text(text)] }
    }

    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: MessageRole::Assistant, blocks }
    }

    /// The results of the calls of one message; all of them belong into one.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: MessageRole::Tool, blocks: results.into_iter().map(Block::ToolResult).collect() }
    }

    /// Its text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A call's arguments as the model wrote them, or if they are no object, as the text of one.
pub(crate) fn arguments_for_history(call: &ToolCall) -> String {
    match call.input() {
        Ok(_) if !call.arguments.trim().is_empty() => call.arguments.clone(),
        _ => Value::Object(input_for_history(call)).to_string(),
    }
}

/// A call's arguments as an object in any case: providers refuse a history in which they are something else.
pub(crate) fn input_for_history(call: &ToolCall) -> Map<String, Value> {
    call.input().unwrap_or_else(|_| {
        Map::from_iter([("malformed_arguments".to_owned(), Value::String(call.arguments.clone()))])
    })
}

impl ToolResult {
    /// A result of one text.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), blocks: vec![text.into()], is_error: false }
    }

    /// The same as a failure.
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}
