//! Rounds of a turn: request, reminders and usage of one model call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::{MessageNote, ProviderKind};
use crate::prompt::{PromptManifestSection, RoundRequest};
use crate::turn::{ExplainedFile, ExplainedHistory, ExplainedTool, TokenUsage};
use crate::{ContentHash, SystemReminderType, TurnApproval};

/// Cache breakpoint up to which a provider may reuse a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMark {
    /// Tools and the stable part.
    Stable,
    /// The session part.
    Session,
    /// The message that opens the turn.
    Opening,
    /// The last message.
    LastMessage,
    /// Automatic prefix detection by the provider, among requests of the same thread.
    ThreadKey,
    /// A mark introduced by another version of Foreword.
    // A record of a newer version must stay readable after a downgrade, so unknown marks are not an error.
    #[serde(other)]
    Other,
}

/// Usage of a round's answer, stored in its place between the messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundOutcome {
    /// Number of the round in its turn, from 1.
    pub round: u32,
    /// Tokens used; for an interrupted answer, as far as the provider had reported them.
    pub usage: TokenUsage,
    /// Breakpoints up to which the request could be reused.
    // Providers differ in the number of breakpoints that they allow, so the ones that were really set are
    // recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_marks: Vec<CacheMark>,
    /// True if the answer broke off, or reached its maximum length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Record of a request to a provider, stored before it is sent. With the messages, the prompt and the tools, which are stored
/// elsewhere, it suffices to rebuild the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    /// Number of the round in its turn, from 1.
    pub round: u32,
    /// API of the provider.
    pub api: ProviderKind,
    /// Name of the model at its provider.
    pub model: String,
    /// Limit of output tokens.
    pub max_output_tokens: u32,
    /// Reasoning effort; absent if the model decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// SHA-256 of the body.
    pub sha256: ContentHash,
    /// Size of the body.
    pub bytes: u64,
}

/// Explanation of one round of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedRound {
    /// Number of the round in its turn, from 1.
    pub round: u32,
    /// First round with an identical manifest, which is stored once.
    // Rounds of a turn usually differ only in their messages. The manifest is stored once, and the others
    // refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u32>,
    /// Sections of the prompt, in order.
    pub sections: Vec<PromptManifestSection>,
    /// Mode, tools, tool choice and notes; absent in records of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RoundRequest>,
    /// Part of earlier turns that was sent, if it was recomputed for this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Foreword's own texts at the end of messages first sent in this round, such as the note about
    /// unanswered turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<MessageNote>,
    /// Reminders first sent in this round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<ExplainedReminder>,
    /// Tools called in the round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ExplainedTool>,
    /// Calls of the round that required approval, with their decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// Usage and cache breakpoints; absent if the model did not answer.
    // Absent instead of zero: a round without an answer has an unknown usage and not a usage of nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RoundOutcome>,
}

impl ExplainedRound {
    /// Removes prompt texts and file contents. A manifest proves texts by their hashes and contains none.
    pub fn remove_texts(&mut self) {
        // Notes are removed entirely, since they are text alone. Approvals stay, because their decision is
        // no content.
        self.notes.clear();
        if let Some(history) = &mut self.history {
            history.summary = None;
        }
        for approval in &mut self.approvals {
            approval.request.arguments.clear();
            approval.request.diff = None;
        }
    }
}

/// A reminder that a model received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedReminder {
    /// Type of the reminder.
    // `type` is a keyword in Rust but the established name on the wire.
    #[serde(rename = "type")]
    pub kind: SystemReminderType,
    /// Call whose result it followed; absent for one in a message of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Instruction files named by the reminder, delivered or announced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ExplainedFile>,
}
