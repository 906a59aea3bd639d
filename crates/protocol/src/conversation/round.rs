//! A round of a turn: what the model was asked with, told and answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::MessageNote;
use crate::prompt::{PromptManifestSection, RoundRequest};
use crate::turn::{ExplainedFile, ExplainedHistory, ExplainedTool, TokenUsage};
use crate::{SystemReminderType, TurnApproval};

/// Up to where a provider was told that it may reuse a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMark {
    /// The tools and the stable part.
    Stable,
    /// The session's part.
    Session,
    /// The message that opened the turn.
    Opening,
    /// The last message.
    LastMessage,
    /// As far as the provider finds out by itself, among requests of the same thread.
    ThreadKey,
    /// A mark of another version of Foreword.
    #[serde(other)]
    Other,
}

/// What a round's answer cost, as it is kept in its place between the messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundOutcome {
    /// Which time the model was asked in the turn, from 1.
    pub round: u32,
    /// What it cost; without the answer's end, as far as the provider had said.
    pub usage: TokenUsage,
    /// Up to where the request could be reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_marks: Vec<CacheMark>,
    /// Whether the answer broke off, or reached its maximum length before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Why a round of a turn went as it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedRound {
    /// Which time the model was asked in the turn, from 1.
    pub round: u32,
    /// The first round with the same manifest, which is stored once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u32>,
    /// Sections of its prompt, in their order.
    pub sections: Vec<PromptManifestSection>,
    /// Mode, tools, whether they could be called, and notes; absent in records of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RoundRequest>,
    /// What was sent of earlier turns, where that was decided anew for this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Texts of ours at the end of messages that were sent for the first time in this round, such as what became of turns
    /// without an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<MessageNote>,
    /// What the model was told besides, for the first time in this round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<ExplainedReminder>,
    /// The tools it called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ExplainedTool>,
    /// Calls of this round that somebody was asked about, and what was decided by whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// What it cost, and up to where its request could be reused; absent when the model did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RoundOutcome>,
}

impl ExplainedRound {
    /// Removes what models were sent and what calls would write: a manifest proves texts and has none.
    pub fn remove_texts(&mut self) {
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

/// A reminder that a model got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedReminder {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: SystemReminderType,
    /// The call at whose result it was; absent: in a message of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The instruction files it named: delivered with their text, or only announced by their path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ExplainedFile>,
}
