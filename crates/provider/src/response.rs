//! What a model answers: events while it does, and the whole at the end.

use protocol::round::CacheMark;
use std::time::Duration;

use protocol::{TokenUsage, ToolCall};
use serde::{Deserialize, Serialize};

use crate::{Message, ProviderError};

/// What happens during a round. The last event of a round that went well is [`ChatEvent::Finished`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The provider could not take the request and is asked again; nothing of an answer was delivered yet.
    Retrying {
        /// How many times it was asked.
        attempt: u32,
        /// How long is waited before the next time.
        delay: Duration,
        error: ProviderError,
    },
    TextDelta {
        /// What comes after the text so far.
        text: String,
    },
    /// More of what the model thinks, as far as it is shown.
    ReasoningDelta {
        /// What comes after the reasoning so far.
        text: String,
    },
    /// A tool call begins; several may be under way at once.
    ToolCallStarted { id: String, name: String },
    /// More of a call's arguments.
    ToolCallDelta {
        id: String,
        /// What comes after the arguments so far.
        arguments: String,
    },
    /// A tool call is complete. Whether its arguments are what they should be, [`ToolCall::input`] tells.
    ToolCallFinished { call: ToolCall },
    /// The round is over.
    Finished(ChatResponse),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatResponse {
    /// What the model said, thought and called, to be appended to the messages as it is.
    pub message: Message,
    /// Tool calls that a limit cut off: to be shown, never to be run. The message is without them.
    #[serde(default)]
    pub unfinished_calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: TokenUsage,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// Up to where the provider was told that it may reuse the request.
    #[serde(default)]
    pub cache_marks: Vec<CacheMark>,
}

impl ChatResponse {
    /// Whether the model neither said nor called anything, whatever it may have thought.
    pub fn is_empty(&self) -> bool {
        self.unfinished_calls.is_empty()
            && self.message.tool_calls().next().is_none()
            && self.message.text().trim().is_empty()
    }
}

/// What had arrived when a round broke off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialResponse {
    /// What was complete or is useful incomplete: text, reasoning, complete tool calls.
    pub message: Message,
    /// Tool calls whose arguments were still arriving: to be shown, never to be run.
    pub unfinished_calls: Vec<ToolCall>,
    /// What it cost, as far as the provider had said.
    pub usage: TokenUsage,
    /// The model that answered, if the provider had named it.
    pub model: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It has said what it wanted to.
    EndTurn,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It has written as much as it may; what it was writing is cut.
    MaxOutputTokens,
    /// The context is full; what it was writing is cut.
    ContextFull,
    /// It, or a filter behind it, refused.
    Refused,
    /// The provider paused it; sending the messages again continues.
    Paused,
    /// Something we have no word for.
    Other(String),
}
