//! Messages: what was said, called and answered, in no provider's words.
//!
//! They are kept and replayed as history, so they serialise; what a provider wants to see again unchanged (its
//! reasoning) is carried as a value that only its adapter looks into.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::ProviderKind;

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub blocks: Vec<Block>,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, or who acts for one. Opens a turn.
    User,
    /// The model.
    Assistant,
    /// The tools that were called. Texts after the results are for the model, too.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A tool is called.
    ToolCall(ToolCall),
    /// A tool has answered.
    ToolResult(ToolResult),
    /// The model has thought.
    Reasoning(Reasoning),
}

/// A call of a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: a JSON object, if all went well.
    pub arguments: String,
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

/// Arguments of a tool call that are not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the arguments of tool call `{id}` to `{name}` are not a JSON object: {problem}")]
pub struct MalformedArguments {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What is wrong with them.
    pub problem: String,
}

impl Message {
    /// A user's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::text(text)] }
    }

    /// A model's message.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: Role::Assistant, blocks }
    }

    /// The results of the calls of one message; all of them belong into one.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: Role::Tool, blocks: results.into_iter().map(Block::ToolResult).collect() }
    }

    /// Its text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Its tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ToolCall {
    /// The arguments as an object, or why they are none. A model may have written anything, or been cut off.
    pub fn input(&self) -> Result<Map<String, Value>, MalformedArguments> {
        let problem =
            |problem: String| MalformedArguments { id: self.id.clone(), name: self.name.clone(), problem };
        // Some servers write nothing at all for a tool without parameters.
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => Err(problem(format!("found {}", type_name(&other)))),
            Err(error) => Err(problem(error.to_string())),
        }
    }

    /// The arguments as the model wrote them, or if they are no object, as the text of one.
    pub(crate) fn arguments_for_history(&self) -> String {
        match self.input() {
            Ok(_) if !self.arguments.trim().is_empty() => self.arguments.clone(),
            _ => Value::Object(self.input_for_history()).to_string(),
        }
    }

    /// The arguments as an object in any case: providers refuse a history in which they are something else.
    pub(crate) fn input_for_history(&self) -> Map<String, Value> {
        self.input().unwrap_or_else(|_| {
            Map::from_iter([("malformed_arguments".to_owned(), Value::String(self.arguments.clone()))])
        })
    }
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

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
