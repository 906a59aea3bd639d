//! What a preview says besides the prompt: how big a request would be, and how old its text is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FrozenFile;
use crate::turn::{ExplainedHistory, TurnReminder};

/// How much of a model's window the next request would take. All tokens are estimates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSizes {
    /// Tokens of the prompt's sections.
    pub prompt_tokens: u64,
    /// The tools of the first round, in the order of the request.
    pub tools: Vec<ToolSize>,
    /// Tokens of all of them.
    pub tool_tokens: u64,
    /// Earlier turns, as they are stored now; absent where there is no thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Tokens of the prompt, the tools and the history together.
    pub request_tokens: u64,
    /// Tokens that are left for the answer.
    pub reserve_tokens: u64,
    /// Tokens that a request and its answer may have together.
    pub window_tokens: u64,
}

/// A tool, and what its description costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSize {
    /// What it is called by.
    pub name: String,
    /// Its tokens.
    pub tokens: u64,
}

/// How the text that a thread started with differs from the disk, where it does.
///
/// The text never changes while the thread lives, so that a provider can reuse it; a change is told once, in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrozenStart {
    /// The directory that the thread is in.
    pub cwd: String,
    /// The directory that was asked for, where that is another one: it changes nothing of the frozen text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_cwd: Option<String>,
    /// The files in which it differs from what a new thread would start with.
    pub files: Vec<FrozenFile>,
    /// What the next turn will be told; absent when the model was told already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<TurnReminder>,
}
