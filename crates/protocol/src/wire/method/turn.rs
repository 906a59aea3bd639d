//! Parameters and results about turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::TurnApproval;
use crate::turn::{TurnExplanation, TurnReminder, TurnStep};
use crate::{ContentHash, HowDecided, ThreadId, ThreadSession, Turn, TurnId, WorkspaceId};

/// Takes what a thread is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnStartParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// What the user says.
    pub input: String,
    /// The directory; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model as `provider/model`; absent: the gateway's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Skills to use in this turn, by their slugs; each must be one that can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Servers whose tools may be used in this turn, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<String>,
}

impl TurnStartParams {
    /// A question for a thread, with nothing else chosen.
    pub fn new(workspace_id: &WorkspaceId, thread_id: &ThreadId, input: impl Into<String>) -> Self {
        Self {
            workspace_id: workspace_id.clone(),
            thread_id: thread_id.clone(),
            input: input.into(),
            cwd: None,
            model: None,
            skills: Vec::new(),
            mcp: Vec::new(),
        }
    }
}

/// Takes the thread whose turns are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread; absent: the turns of all threads that people began, the last one first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Most turns, from 1 to 500; absent: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// Only turns of the thread whose ordinal is below this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// Answers with a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnResult {
    /// The turn.
    pub turn: Turn,
}

/// Answers with a turn and what happened in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnGetResult {
    /// The turn.
    pub turn: Turn,
    /// What was said and done, in order.
    pub steps: Vec<TurnStep>,
    /// What to pass as `after` for the steps that did not fit; absent when all that there are were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Calls that wait for somebody to decide, those of delegated turns among them.
    pub approvals: Vec<TurnApproval>,
    /// Calls of these steps that were decided about, and by whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<TurnApproval>,
    /// The turns that it delegated work to, and theirs, in the order in which they began, without their answers; of a task at most 1,000
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
}

impl TurnGetResult {
    /// Adds the page that follows; what both have is as the later one says.
    pub fn append(&mut self, page: Self) {
        let Self { turn, steps, next, approvals, decided, delegated } = page;
        self.steps.extend(steps);
        self.decided.extend(decided);
        (self.turn, self.next, self.approvals, self.delegated) = (turn, next, approvals, delegated);
    }
}

/// Answers with turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnListResult {
    /// The newest turns of the thread, newest first, without their answers.
    pub turns: Vec<Turn>,
}

/// Takes a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
}

/// Takes a turn whose steps are wanted, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnPageParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// Only steps after so many, such as `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
}

impl From<TurnGetParams> for TurnPageParams {
    /// The first page.
    fn from(TurnGetParams { workspace_id, turn_id }: TurnGetParams) -> Self {
        Self { workspace_id, turn_id, after: None }
    }
}

/// Answers with a turn that is followed from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnWatchResult {
    /// The turn as it is now.
    pub turn: Turn,
    /// The answer so far.
    pub text: String,
    /// The index of the first `turn/delta` that follows `text`; absent when none will come because the turn has ended, or
    /// another gateway runs it: then `turn/get` has more from time to time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_index: Option<u64>,
    /// Calls that wait for a decision now, those of delegated turns among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<TurnApproval>,
    /// The turns that it delegated work to so far, and theirs; of a task at most 1,000 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegated: Vec<Turn>,
}

/// Answers a call that waits for somebody to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnApproveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub call_id: String,
    /// Whether it may run.
    pub allow: bool,
    /// What was shown to whoever decides, as the question names it: if something else would run now, the answer is
    /// refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentHash>,
    /// How the answer came about, which is kept and shown, and told to the model; `expired` is the gateway's own.
    #[serde(default)]
    pub how: HowDecided,
}

/// Answers that the decision was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnApproveResult {
    /// Whether the call may run.
    pub allowed: bool,
}

/// Answers with what made a turn's prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnExplainResult {
    /// What made the turn's prompt, and what the turn did.
    pub explanation: TurnExplanation,
}

/// Takes the thread whose session is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// Takes the thread whose session is compared with the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionResumeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The directory to resume in; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Answers with a thread's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionGetResult {
    /// The session; absent before a thread's first turn, and in a workspace without a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ThreadSession>,
}

/// Answers with what the next turn would tell the model of a changed disk. Nothing counts as told yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionResumeResult {
    /// The session; absent before a thread's first turn, and in a workspace without a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ThreadSession>,
    /// What differs; absent when nothing does.
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
