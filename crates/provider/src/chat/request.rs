//! A request to a model in neutral terms.

use protocol::ToolSpec;
use serde::{Deserialize, Serialize};

use crate::{Message, ToolChoice};

/// Default limit of output tokens.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 16_000;

/// A request: everything that a model is shown and may do.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// Name of the model at its provider, such as `claude-opus-5`.
    pub model: String,
    /// System text, before the messages.
    pub system: SystemParts,
    /// User message before the history that is the same in every request of a session. Empty for none.
    pub preamble: String,
    /// History and current turn, oldest first.
    pub messages: Vec<Message>,
    /// Callable tools. Their order must not change between rounds: a changed list breaks the cached prefix.
    pub tools: Vec<ToolSpec>,
    /// Permission or obligation to call a tool.
    pub tool_choice: ToolChoice,
    /// Most output tokens, reasoning included.
    pub max_output_tokens: u32,
    /// Key shared by requests with a common prefix, such as the thread; it routes them to the same cache.
    pub cache_key: Option<String>,
    /// Reasoning effort. `None` leaves it to the model.
    pub reasoning: Option<ReasoningEffort>,
}

impl ChatRequest {
    /// Creates a request without system text and tools.
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

/// System text, split by how rarely its parts change, so that a cache can end between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemParts {
    /// The part that is the same in every session.
    pub stable: String,
    /// The part that is the same in every request of a session.
    pub session: String,
}

impl SystemParts {
    /// Joins both parts for providers that accept a single text.
    pub(crate) fn joined(&self) -> String {
        let parts = [self.stable.as_str(), self.session.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Reasoning effort of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    Low,
    Medium,
    High,
}

impl ReasoningEffort {
    /// Returns the word that all providers use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the effort with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High].into_iter().find(|effort| effort.word() == word)
    }

    /// Returns a token budget, for models without effort levels.
    pub(crate) fn budget(self) -> u32 {
        match self {
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 24_576,
        }
    }
}
