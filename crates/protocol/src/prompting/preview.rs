//! Additional results of a preview: request size, and age of the frozen start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FrozenFile;
use crate::turn::{ExplainedHistory, TurnReminder};

/// Estimated tokens of a thread's next request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSizes {
    /// Tokens of the prompt's sections.
    pub prompt_tokens: u64,
    /// Tools of the first round, in the order of the request.
    pub tools: Vec<ToolSize>,
    /// Tokens of all tools.
    pub tool_tokens: u64,
    /// Earlier turns as stored now; absent without a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Tokens of prompt, tools and history together.
    pub request_tokens: u64,
    /// Tokens reserved for the answer.
    pub reserve_tokens: u64,
    /// Tokens available to a request and its answer together.
    pub window_tokens: u64,
}

/// A tool and the size of its description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSize {
    /// Name of the tool.
    pub name: String,
    /// Estimated tokens.
    pub tokens: u64,
}

/// Difference between a thread's frozen start and the disk.
///
/// The frozen text never changes during a thread, so that providers can reuse it. A change is sent once, in a
/// message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrozenStart {
    /// Directory of the thread.
    pub cwd: String,
    /// Requested directory, if it is another one. It does not affect the frozen text.
    // Reported only if it differs, because the frozen text of the thread's own directory applies all the
    // same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_cwd: Option<String>,
    /// Files that differ from a new thread's start.
    pub files: Vec<FrozenFile>,
    /// Reminder for the next turn; absent if the model already received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<TurnReminder>,
}
