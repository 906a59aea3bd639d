//! Sessions of agents as their transcripts record them, and the answer to "my agent ignored my rule, why?".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Answer to "why did the agent ignore this rule?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhyReport {
    /// The rule.
    pub rule: RuleLine,
    /// Verdicts, newest session first.
    pub sessions: Vec<WhySession>,
}

/// A line of an instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleLine {
    /// Text of the line, without the marks of a list or heading.
    pub text: String,
    /// Path of the file.
    pub path: String,
    /// Number of the line, starting with 1.
    pub line: u32,
}

/// Verdict for one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhySession {
    /// Name of the agent.
    pub agent: String,
    /// Version of the agent; absent if the transcript does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Id of the session.
    pub id: String,
    /// Session that started this one; absent unless it is a subagent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Title, or the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Start of the session.
    pub started_at: Timestamp,
    /// Working directory; empty if the transcript does not name it.
    pub cwd: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason for the verdict: a decision of the agent's profile, or a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Source of the verdict.
    pub evidence: TranscriptEvidence,
    /// Deliveries of the file's text.
    pub deliveries: Vec<RuleDelivery>,
    /// Message at which a compaction removed the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_at: Option<u64>,
    /// Violation that was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// Messages between the rule and the violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_before: Option<u64>,
    /// Tokens between the rule and the violation, from the sizes of requests that the agent recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Difference between the version that the model had and the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// One action that prevents this.
    pub advice: String,
}

/// Relation between a rule and the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Two versions of the file were in front of the model.
    Conflicting,
    /// The rule was in front of the model.
    Delivered,
    /// The model had only another version of the line.
    Outdated,
    /// The file was loaded, but cut before the line.
    Truncated,
    /// The rule was loaded, and removed by a compaction before the violation.
    Dropped,
    /// The rule was loaded only after the violation.
    TooLate,
    /// The file was never in front of the model.
    NeverLoaded,
    /// The transcript does not contain enough.
    Unknown,
}

impl Verdict {
    /// Returns the verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Conflicting => "conflicting",
            Self::Delivered => "delivered",
            Self::Outdated => "outdated",
            Self::Truncated => "truncated",
            Self::Dropped => "dropped",
            Self::TooLate => "too late",
            Self::NeverLoaded => "never loaded",
            Self::Unknown => "unknown",
        }
    }
}

/// Source of a verdict, most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptEvidence {
    /// The transcript contains the text as sent.
    Recorded,
    /// The text comes from a snapshot of the agent, or from Git at a recorded commit.
    Recovered,
    /// The text was reconstructed with the agent's profile.
    Inferred,
}

/// Delivery of an instruction text to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleDelivery {
    /// Number of the message; 0 for the system prompt.
    pub message: u64,
    /// Cause of the delivery.
    pub when: DeliveryTime,
    /// Path under which it was delivered.
    pub path: String,
}

/// Cause of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryTime {
    /// The session started, or its context was rebuilt.
    Start,
    /// A tool read the file, or a file that it applies to.
    Reading,
    /// A note about a changed or newly applying file.
    Reminder,
    /// The session was resumed.
    Resume,
}

/// First tool call or assistant message that matches the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// Number of the message.
    pub message: u64,
    /// Tool that was called; absent for an assistant message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Matching line.
    pub text: String,
}

/// Sessions found on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptList {
    /// Sessions, newest first.
    pub sessions: Vec<TranscriptSession>,
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptSession {
    /// Name of the agent.
    pub agent: String,
    /// Version of the agent; absent if the transcript does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Id of the session.
    pub id: String,
    /// Session that started this one; absent unless it is a subagent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Title, or the beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Start of the session.
    pub started_at: Timestamp,
    /// Working directory; empty if the transcript does not name it.
    pub cwd: String,
    /// Number of user, assistant and tool messages.
    pub messages: u64,
    /// Largest request in input tokens, if the agent recorded sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Instruction files, in the order in which they were loaded.
    pub files: Vec<TranscriptFile>,
    /// Number of compactions.
    pub compactions: u64,
    /// Number of sessions that this one started.
    pub subagents: u64,
    /// True if the agent still seems to be running.
    pub running: bool,
    /// Records and lines that could not be read; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An instruction file that was loaded in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptFile {
    /// Path, or the working directory if the agent records text without paths.
    pub path: String,
    /// Number of the message; 0 for the system prompt.
    pub message: u64,
    /// Cause of the delivery.
    pub when: DeliveryTime,
}

/// Timeline of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptTimeline {
    /// The session.
    pub session: TranscriptSession,
    /// Events, in the order of the transcript.
    pub events: Vec<TranscriptEvent>,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEvent {
    /// Number of the message; 0 for the system prompt.
    pub message: u64,
    /// Time of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Kind of the event.
    pub kind: TranscriptEventKind,
    /// Text of a message, or of an instruction file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// File that was loaded or touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Tool that was called or answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptEventKind {
    /// The agent's process started.
    Start,
    /// The user's message.
    User,
    /// The model's message.
    Assistant,
    /// A tool call.
    Call,
    /// The result of a tool call.
    Result,
    /// An instruction text reached the model.
    Instructions,
    /// A compaction replaced the conversation.
    Compaction,
}
