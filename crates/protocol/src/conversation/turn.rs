//! Turns: what a thread was asked, and how that went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hook::HookRun;
use crate::prompt::{PromptDiagnostic, PromptLeftOut, PromptManifestSection, PromptSource};
use crate::round::ExplainedRound;
use crate::tool::{ToolCall, TurnApproval};
use crate::{CallEffects, ContentHash, SystemReminderType, ThreadId, Timestamp, TurnId, WorkspaceId};

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// A gateway works on it.
    Running,
    /// It has its answer.
    Completed,
    /// It ended without an answer.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

/// A turn of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Identifies the turn.
    pub id: TurnId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Counts the thread's turns from 1.
    pub ordinal: u64,
    /// How far it is.
    pub status: TurnStatus,
    /// What was asked.
    pub input: String,
    /// The answer so far, or the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The model it was asked of, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The directory it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Why it has no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// The turn that delegated it; absent for one that a person began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
}

/// Why a turn has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnError {
    /// What went wrong.
    pub kind: TurnErrorKind,
    /// What happened, and to what.
    pub message: String,
    /// What to do about it; each line is one piece of advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The provider that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The HTTP status it answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the same turn could succeed later.
    #[serde(default)]
    pub retryable: bool,
}

/// What kept a turn from its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnErrorKind {
    /// A model's provider failed, or there is none.
    ProviderFailed,
    /// A hook that must not fail did.
    HookFailed,
    /// The gateway stopped or died, or another one took the turn for dead.
    Interrupted,
    /// The model ended without an answer.
    NoAnswer,
    /// The model, or a filter behind it, refused.
    Refused,
    /// The model went on calling tools when it had to answer.
    ToolBudgetSpent,
    /// What must be sent does not fit into the model's context.
    TooLong,
    /// Anything else, also what only another version of Foreword knows.
    #[serde(other)]
    Failed,
}

/// Tokens of a request to a model, or of a whole turn. The parts are parts of the sums with every provider, whichever way
/// it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// All that was read, cached or not.
    pub input: u64,
    /// All that was written, reasoning included.
    pub output: u64,
    /// The part of `input` that came from a cache.
    pub cached_read: u64,
    /// The part of `input` that was written to a cache.
    pub cached_write: u64,
    /// The part of `output` that was reasoning, where the provider reports it.
    pub reasoning: u64,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached_read = self.cached_read.saturating_add(other.cached_read);
        self.cached_write = self.cached_write.saturating_add(other.cached_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person, or whoever acts for one. Opens a turn.
    User,
    /// The model.
    Assistant,
    /// The tools that were called. Texts after the results are for the model, too.
    Tool,
}

/// One message of a turn, for people to read.
///
/// What is stored and sent again is `provider::Message`: the order of its blocks and a provider's own reasoning matter to
/// a model only, and reminders are rendered here beside what they belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStep {
    /// Who speaks.
    pub role: MessageRole,
    /// What is said, without reminders.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools the model calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// What tools answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<TurnToolResult>,
    /// What the model is told besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<TurnReminder>,
    /// Whether the text reached its maximum length before its end. The next answer goes on with it, if there is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// When it was kept.
    pub created_at: Timestamp,
}

/// What a tool answered, for people to read; `ToolResult` is what the model is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The answer.
    pub text: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Reminders at the end of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<TurnReminder>,
}

/// A reminder, rendered as the model reads it. `Reminder` is the value that is stored: what its words
/// were made from is nothing that a client has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnReminder {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: SystemReminderType,
    /// Its text, tags included.
    pub text: String,
}

/// What made a turn's prompt, and what the turn did, from the store alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnExplanation {
    /// The turn, with its answer.
    pub turn: Turn,
    /// Instruction files on disk that the model had, and how they reached it.
    pub files: Vec<ExplainedFile>,
    /// Documents, skills, memory and other sources of the prompt's sections.
    pub sources: Vec<ExplainedSource>,
    /// What could have been in a section and is not, such as skills that nobody has trusted; of very many only the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PromptLeftOut>,
    /// Sections of the prompt, in their order.
    pub sections: Vec<PromptManifestSection>,
    /// What did not go as asked in the prompts of its rounds: texts that were cut, tools that are missing, servers that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<PromptDiagnostic>,
    /// Hooks that ran for the turn.
    pub hooks: Vec<HookRun>,
    /// Tools that were called.
    pub tools: Vec<ExplainedTool>,
    /// Calls that somebody was asked about, and what was decided by whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// The turns that it delegated work to, and theirs, in the order in which they began, without their answers; of a task at most 1,000
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
    /// Work that is done after the turn, such as asking a model what of it to remember.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<ExplainedJob>,
    /// What the model saw of earlier turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<ExplainedHistory>,
    /// Every time the model was asked, in order.
    pub rounds: Vec<ExplainedRound>,
}

/// Work that a hook asked for after a turn, and that any gateway does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedJob {
    /// What is to be done.
    pub kind: String,
    /// How far it is.
    pub status: JobStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What models were asked in all attempts; it counts in the workspace's day, not in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
}

/// How far a background job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It is due, or is tried again later.
    Waiting,
    /// A gateway works on it.
    Running,
    /// It is done.
    Done,
    /// It was tried as often as it may be.
    Failed,
}

/// An instruction file that the model had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedFile {
    /// The file.
    pub path: String,
    /// How it reached the model.
    pub delivery: FileDelivery,
    /// SHA-256 of what was read of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<ContentHash>,
    /// Modification time in milliseconds since 1970, where the model was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ms: Option<i64>,
    /// The tool call whose result brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The earlier turn that brought it and was still in the request; absent: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

/// How an instruction file reached a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileDelivery {
    /// In the frozen start of the session.
    Initial,
    /// With its text, at the end of a tool's result.
    Inline,
    /// By a tool that read the whole of it.
    Read,
    /// By its path, at the end of a tool's result or after a resume.
    Pointer,
    /// As one that no longer applies.
    Removed,
}

/// Where a part of a prompt came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSource {
    /// The section it is in.
    pub section_id: String,
    /// What it is, and in which version.
    #[serde(flatten)]
    pub source: PromptSource,
}

/// A tool that was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTool {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Whether it failed; absent when it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Types of the reminders at the end of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<SystemReminderType>,
    /// What it did besides.
    #[serde(flatten)]
    pub effects: CallEffects,
}

/// What the model saw of earlier turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedHistory {
    /// Turns up to this ordinal are not sent as they were; 0: all are.
    pub left_out_through: u64,
    /// Whether a summary replaces them.
    pub summarised: bool,
    /// Of those that are left out, the ones after this ordinal are in no summary either; absent: all are in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_after: Option<u64>,
    /// That summary, as a model wrote it; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Completed turns that were sent word for word.
    pub turns: u64,
    /// Questions and answers of those turns; what tools did is not counted.
    pub entries: u64,
    /// Their tokens and those of the summary, an estimate.
    pub tokens: u64,
    /// Tokens that earlier turns may have, at this prompt's size.
    pub budget_tokens: u64,
}
