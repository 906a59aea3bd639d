//! The answer of a model: events while it arrives, and the whole at the end.

use protocol::round::CacheMark;
use std::time::Duration;

use protocol::{TokenUsage, ToolCall};
use serde::{Deserialize, Serialize};

use crate::{Message, ProviderError};

/// Event of a round. The last event of a successful round is [`ChatEvent::Finished`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The provider is retried; nothing of an answer was delivered yet.
    Retrying {
        /// Number of requests so far.
        attempt: u32,
        /// Delay before the next request.
        delay: Duration,
        error: ProviderError,
    },
    TextDelta {
        /// Text to append.
        text: String,
    },
    /// Visible reasoning of the model.
    ReasoningDelta {
        /// Reasoning to append.
        text: String,
    },
    /// A tool call begins. Several may be in progress.
    ToolCallStarted { id: String, name: String },
    /// Arguments of a call.
    ToolCallDelta {
        id: String,
        /// Arguments to append.
        arguments: String,
    },
    /// A tool call is complete. [`ToolCall::input`] returns an error if its arguments are malformed.
    ToolCallFinished { call: ToolCall },
    /// Usage so far, whenever the provider reports it. A caller that drops the stream still has to pay for it.
    Usage(TokenUsage),
    /// The round is complete.
    Finished(ChatResponse),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatResponse {
    /// The model's message, which is appended to the history unchanged.
    pub message: Message,
    /// Tool calls that a limit cut off. They are shown but never run, and the message does not contain them.
    #[serde(default)]
    pub unfinished_calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: TokenUsage,
    /// Model that answered, as named by the provider.
    pub model: String,
    /// Cache breakpoints of the request.
    #[serde(default)]
    pub cache_marks: Vec<CacheMark>,
}

impl ChatResponse {
    /// Returns true if the model neither wrote text nor called a tool. Reasoning does not count.
    pub fn is_empty(&self) -> bool {
        self.unfinished_calls.is_empty()
            && self.message.tool_calls().next().is_none()
            && self.message.text().trim().is_empty()
    }
}

/// The part of an answer that arrived before an interruption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialResponse {
    /// Text, reasoning and complete tool calls.
    pub message: Message,
    /// Tool calls with incomplete arguments. They are shown but never run.
    pub unfinished_calls: Vec<ToolCall>,
    /// Token usage as far as the provider reported it.
    pub usage: TokenUsage,
    /// Model that answered, if the provider named it.
    pub model: Option<String>,
}

/// Reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The output limit was reached, and the answer is cut.
    MaxOutputTokens,
    /// The context is full, and the answer is cut.
    ContextFull,
    /// The model or a content filter refused.
    Refused,
    /// The provider paused the turn; sending the messages again continues it.
    Paused,
    /// An unknown reason.
    Other(String),
}
