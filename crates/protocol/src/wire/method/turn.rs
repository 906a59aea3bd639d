//! Parameters and results of turns and sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::ProviderKind;
use crate::tool::TurnApproval;
use crate::turn::{TurnExplanation, TurnReminder, TurnStep};
use crate::{ContentHash, HowDecided, ThreadId, ThreadSession, Turn, TurnId, WorkspaceId};

/// A new turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnStartParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Input of the user.
    pub input: String,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model as `provider/model`; absent for the gateway's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Slugs of skills to use in this turn. Each must be usable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Names of MCP servers whose tools may be used in this turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<String>,
    /// Context for this turn, such as the file that is open in an editor; at most 8,000 characters. The model gets it as data,
    /// not as instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl TurnStartParams {
    /// Creates the parameters of a turn with default settings.
    pub fn new(workspace_id: &WorkspaceId, thread_id: &ThreadId, input: impl Into<String>) -> Self {
        Self {
            workspace_id: workspace_id.clone(),
            thread_id: thread_id.clone(),
            input: input.into(),
            cwd: None,
            model: None,
            skills: Vec::new(),
            mcp: Vec::new(),
            context: None,
        }
    }
}

/// Filter for turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread; absent for turns of all threads that people started, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Most turns, from 1 to 500; absent for 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// Ordinal that turns of the thread must precede.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnResult {
    /// The turn.
    pub turn: Turn,
}

/// A turn with its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnGetResult {
    /// The turn.
    pub turn: Turn,
    /// Messages of the turn, in order.
    pub steps: Vec<TurnStep>,
    /// Value of `after` for the remaining steps; absent if all were returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Pending approvals, including those of delegated turns.
    pub approvals: Vec<TurnApproval>,
    /// Decided approvals of calls in these steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<TurnApproval>,
    /// Turns delegated by the turn, directly or indirectly, in order of their start and without answers;
    /// tasks are cut to 1,000 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
}

impl TurnGetResult {
    /// Appends the next page. Fields present in both are taken from the later page.
    pub fn append(&mut self, page: Self) {
        // Destructured completely, so that a new field cannot be forgotten here.
        let Self { turn, steps, next, approvals, decided, delegated } = page;
        self.steps.extend(steps);
        self.decided.extend(decided);
        self.turn = turn;
        self.next = next;
        self.approvals = approvals;
        self.delegated = delegated;
    }
}

/// Turns of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnListResult {
    /// Turns, newest first, without their answers.
    pub turns: Vec<Turn>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
}

/// Page of a turn's steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnPageParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// Number of steps to skip: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
}

impl From<TurnGetParams> for TurnPageParams {
    /// Requests the first page.
    fn from(TurnGetParams { workspace_id, turn_id }: TurnGetParams) -> Self {
        Self { workspace_id, turn_id, after: None }
    }
}

/// A turn that is now followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnWatchResult {
    /// Current state of the turn.
    pub turn: Turn,
    /// Answer so far.
    pub text: String,
    /// Index of the first `turn/delta` that follows `text`; absent if none will follow, because the turn has
    /// ended or runs on another gateway. In that case poll `turn/get`.
    // The index joins the text and the deltas without a gap, although both travel separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_index: Option<u64>,
    /// Pending approvals, including those of delegated turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// Turns delegated so far, directly or indirectly; tasks are cut to 1,000 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
}

/// Decision about a pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnApproveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub call_id: String,
    /// True if the call may run.
    pub allow: bool,
    /// Digest that was shown with the question. The decision is rejected if something else would run by now.
    // Optional for callers that decide without showing anything, such as a script that denies every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentHash>,
    /// Origin of the decision, which is stored, shown, and sent to the model. Only the gateway itself sets
    /// `expired`.
    #[serde(default)]
    pub how: HowDecided,
}

/// Confirmation of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnApproveResult {
    /// True if the call may run.
    pub allowed: bool,
}

/// Explanation of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnExplainResult {
    /// The explanation.
    pub explanation: TurnExplanation,
}

/// A past request to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRequestResult {
    /// Number of the round in its turn, from 1.
    pub round: u32,
    /// API of the provider.
    pub api: ProviderKind,
    /// Name of the model at its provider.
    pub model: String,
    /// SHA-256 of the body, as recorded when it was sent.
    pub sha256: ContentHash,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// The body: JSON in a string, so that every byte is kept.
    pub body: String,
}

/// Thread whose session to return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// Thread whose session to compare with the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionResumeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Session of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionGetResult {
    /// The session; absent before a thread's first turn, and in a workspace without a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ThreadSession>,
}

/// Reminder that the next turn would receive about changed files. Nothing counts as delivered yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionResumeResult {
    /// The session; absent before a thread's first turn, and in a workspace without a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ThreadSession>,
    /// The reminder; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<TurnReminder>,
}

super::in_workspace!(
    TurnStartParams,
    TurnListParams,
    TurnGetParams,
    TurnPageParams,
    TurnApproveParams,
    SessionGetParams,
    SessionResumeParams,
);
