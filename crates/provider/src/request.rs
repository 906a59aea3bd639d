//! What is asked of a model, in no provider's words.

use protocol::ToolSpec;
use serde::{Deserialize, Serialize};

use crate::{Message, ToolChoice};

/// How many tokens a model may write when nobody said.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 16_000;

/// One round: everything a model is shown, and what it may do.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The model's name at its provider, such as `claude-opus-5`.
    pub model: String,
    /// The system text, before the messages.
    pub system: SystemParts,
    /// What is said before the history as a user's message, the same in every request of one session; empty: nothing.
    pub preamble: String,
    /// The history and the present turn, oldest first.
    pub messages: Vec<Message>,
    /// The tools a model may call, in an order that must not change between rounds: a changed list breaks the
    /// cached prefix.
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
    /// The most tokens it may write, reasoning included.
    pub max_output_tokens: u32,
    /// What requests with a common prefix have in common, such as the thread; routes them to the same cache.
    pub cache_key: Option<String>,
    /// How hard it should think; `None` leaves it to the model.
    pub reasoning: Option<ReasoningEffort>,
}

impl ChatRequest {
    /// A request without system text and tools.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            system: SystemParts::default(),
            preamble: String::new(),
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: DEFAULT_MAX_OUTPUT_TOKENS,
            cache_key: None,
            reasoning: None,
        }
    }
}

/// The system text, parted by how rarely it changes, so that a cache can end where a part ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemParts {
    /// The same in every session.
    pub stable: String,
    /// The same in every request of one session.
    pub session: String,
}

impl SystemParts {
    /// Both parts as one text, for providers that take only one.
    pub(crate) fn joined(&self) -> String {
        let parts = [self.stable.as_str(), self.session.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// How hard a model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// Little.
    Low,
    /// Neither.
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// The word that every provider uses.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The same as a number of tokens, for models that want one.
    pub(crate) fn budget(self) -> u32 {
        match self {
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 24_576,
        }
    }
}
