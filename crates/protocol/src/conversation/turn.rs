//! Turns of a thread and their explanations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hook::HookRun;
use crate::prompt::{PromptDiagnostic, PromptLeftOut, PromptManifestSection, PromptPolicy, PromptSource};
use crate::round::ExplainedRound;
use crate::tool::{ToolCall, TurnApproval};
use crate::{CallEffects, ContentHash, SystemReminderType, ThreadId, Timestamp, TurnId, WorkspaceId};

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// A gateway is working on it.
    Running,
    /// It has an answer.
    Completed,
    /// It ended without an answer.
    Failed,
    /// It was stopped on request.
    Cancelled,
}

/// A turn of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Id of the turn.
    pub id: TurnId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Number of the turn in its thread, from 1.
    // Ids sort by creation across all threads. People count the turns of one thread, so they get a number
    // of their own.
    pub ordinal: u64,
    /// State of the turn.
    pub status: TurnStatus,
    /// The user's input.
    pub input: String,
    /// The answer, complete or so far.
    // Present while the turn runs, too. A client that connects late shows it before the first delta
    // arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The model, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Reason for the missing answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// Tokens used.
    // Absent if no provider reported any, since zero would count as a free turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Start time.
    pub created_at: Timestamp,
    /// End time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Name of the token that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// The delegating turn; absent for a turn that a person started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
}

/// Reason why a turn has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnError {
    /// Kind of failure.
    pub kind: TurnErrorKind,
    /// Description of the failure and what it affected.
    pub message: String,
    /// Advice, one piece per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The provider that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// HTTP status of the provider's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if the same turn could succeed later.
    #[serde(default)]
    pub retryable: bool,
}

/// Kind of a turn's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnErrorKind {
    /// A provider failed, or none is configured.
    ProviderFailed,
    /// A hook with the policy `fail_closed` failed.
    HookFailed,
    /// The gateway stopped or crashed, or another gateway took over the turn's lease.
    Interrupted,
    /// The model ended without an answer.
    NoAnswer,
    /// The model, or a filter behind it, refused to answer.
    Refused,
    /// The model kept calling tools when it had to answer.
    ToolBudgetSpent,
    /// The request exceeds the model's context window.
    TooLong,
    /// Any other failure, including kinds of other versions of Foreword.
    // The fallback has the most general meaning, so a client that is older than the gateway still shows a
    // failed turn correctly.
    #[serde(other)]
    Failed,
}

/// Tokens of one request or of a whole turn. Each part is included in its total, regardless of how the
/// provider counts.
// Absent counters read as zero: providers leave out what they do not count, and turns stored by earlier
// versions lack the newer ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// All tokens read, cached or not.
    pub input: u64,
    /// All tokens written, including reasoning.
    pub output: u64,
    /// Part of `input` that was read from a cache.
    pub cached_read: u64,
    /// Part of `input` that was written to a cache.
    pub cached_write: u64,
    /// Part of `output` spent on reasoning, if the provider reports it.
    pub reasoning: u64,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        // Saturating, because the counters come from providers and a nonsensical value must not overflow
        // the sum.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached_read = self.cached_read.saturating_add(other.cached_read);
        self.cached_write = self.cached_write.saturating_add(other.cached_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person, or a program acting for one. Opens a turn.
    User,
    /// The model.
    Assistant,
    /// Results of tool calls. Texts after the results are addressed to the model as well.
    Tool,
}

/// One message of a turn, for display.
///
/// Stored and resent is [`crate::message::Message`], whose block order and provider-specific reasoning matter
/// only to models. Here, reminders are rendered beside the result they belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStep {
    /// Author of the message.
    pub role: MessageRole,
    /// Text without reminders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Tools called by the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Results of tool calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<TurnToolResult>,
    /// Reminders that the model received with the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<TurnReminder>,
    /// True if the text was cut off at its maximum length. The next answer continues it, if there is one.
    // The continuation is a step of its own, so a client that joins the two must know that this text ended
    // in the middle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Time of storage.
    pub created_at: Timestamp,
}

/// Result of a tool call, for display; models receive a `ToolResult`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnToolResult {
    /// Id of the call.
    pub call_id: String,
    /// The result's text.
    pub text: String,
    /// True if the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Reminders at the end of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<TurnReminder>,
}

/// A reminder, rendered as the model reads it. Clients do not need the structured `Reminder` that it was made
/// from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnReminder {
    /// Type of the reminder.
    #[serde(rename = "type")]
    pub kind: SystemReminderType,
    /// Text, including its tags.
    pub text: String,
}

/// Explanation of a turn: the sources of its prompt and its actions, taken from the store alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnExplanation {
    /// The turn, with its answer.
    pub turn: Turn,
    /// Instruction files on disk that the model received, and their delivery.
    pub files: Vec<ExplainedFile>,
    /// Documents, skills, memory and other sources of the prompt's sections.
    pub sources: Vec<ExplainedSource>,
    /// Sources that were left out of a section, such as untrusted skills; limited to the first entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PromptLeftOut>,
    /// Decisions of hooks about the turn, such as its use of memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PromptPolicy>,
    /// Sections of the prompt, in order.
    pub sections: Vec<PromptManifestSection>,
    /// Problems of the rounds' prompts: truncated texts, missing tools, failed servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<PromptDiagnostic>,
    /// Hook runs of the turn.
    pub hooks: Vec<HookRun>,
    /// Tools called in the turn.
    pub tools: Vec<ExplainedTool>,
    /// Calls that required approval, with their decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// Turns delegated by the turn, directly or indirectly, in order of their start and without answers;
    /// tasks are cut to 1,000 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
    /// Background jobs queued by the turn, such as extracting memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<ExplainedJob>,
    /// Part of earlier turns that the model received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Rounds of the turn, in order.
    pub rounds: Vec<ExplainedRound>,
}

/// A background job that a hook queued; any gateway may run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedJob {
    /// Kind of job.
    pub kind: String,
    /// State of the job.
    pub status: JobStatus,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Error of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens used by all attempts; they count toward the workspace's daily limit, not the turn.
    // Counted apart from the turn, because the job may run long after the turn was shown with its total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
}

/// State of a background job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Queued, or waiting for a retry.
    Waiting,
    /// A gateway is working on it.
    Running,
    /// Finished.
    Done,
    /// All attempts failed.
    Failed,
}

/// An instruction file that the model received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedFile {
    /// Path of the file.
    pub path: String,
    /// Delivery of the file.
    pub delivery: FileDelivery,
    /// SHA-256 of the delivered content.
    // Absent for a removed file, of which no content is left to prove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// Modification time in milliseconds since 1970, if the model received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ms: Option<i64>,
    /// Tool call whose result delivered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Earlier turn that delivered it and was still in the request; absent for this turn.
    // A file is delivered once. Later turns rely on the copy in the replayed history, which this id points
    // to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

/// Delivery of an instruction file to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileDelivery {
    /// In the frozen start of the session.
    Initial,
    /// With its text, at the end of a tool's result.
    Inline,
    /// By a tool that read the whole file.
    Read,
    /// By its path, at the end of a tool's result or after a resume.
    Pointer,
    /// As a file that no longer applies.
    Removed,
}

/// Source of a part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSource {
    /// Section that contains it.
    pub section_id: String,
    /// The source and its version.
    #[serde(flatten)]
    pub source: PromptSource,
}

/// A tool that was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTool {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// True if it failed; absent if it has no result.
    // A call without a result was interrupted. It may have changed files, so it must not be reported as
    // successful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Types of the reminders at the end of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<SystemReminderType>,
    /// Side effects of the call.
    #[serde(flatten)]
    pub effects: CallEffects,
}

/// Part of earlier turns that the model received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedHistory {
    /// Ordinal up to which turns were not sent verbatim; 0 if all were.
    pub left_out_through: u64,
    /// True if a summary replaces those turns.
    pub summarised: bool,
    /// Ordinal after which omitted turns are not covered by a summary either; absent if all are covered.
    // A failed summary leaves a gap between the summarized turns and those sent verbatim, which users need
    // to know about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_after: Option<u64>,
    /// The summary, as written by a model; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Number of completed turns sent verbatim.
    pub turns: u64,
    /// Number of questions and answers in those turns, without tool calls.
    pub entries: u64,
    /// Estimated tokens of those turns and the summary.
    pub tokens: u64,
    /// Token budget for earlier turns at this prompt's size.
    pub budget_tokens: u64,
}
