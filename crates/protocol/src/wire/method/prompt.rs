//! Parameters and results about prompts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::preview::{FrozenStart, PromptSizes};
pub use crate::prompt::RoundManifest;
use crate::prompt::{PromptBlame, PromptManifest};
use crate::round::ExplainedRound;
use crate::{ThreadId, ToolSpec, TurnId, WorkspaceId};

/// Takes a thread, and where and with what its next turn would begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptPreviewParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The directory; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the user would say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether to leave out what the thread remembers: the prompt of a new thread in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// Answers with a prompt and its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptResult {
    /// What is the same in every session.
    pub stable_text: String,
    /// What is the same for this session.
    pub session_text: String,
    /// What is the same for this session and sent as the first user message; absent in profiles that have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_text: String,
    /// What is of this turn, without what an earlier turn in the request says already.
    pub turn_text: String,
    /// The parts joined by a blank line.
    pub full_text: String,
    /// What it consists of.
    pub manifest: PromptManifest,
    /// How big the request would be; absent for a past prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<PromptSizes>,
    /// The tools of the first round as a model reads them; absent when there are none, and for a past prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// How the thread's frozen start differs from the disk; absent when it does not, and for a past prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenStart>,
}

/// Takes a turn, and what to hold it against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptDiffParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The earlier turn.
    pub turn_id: TurnId,
    /// The later turn; absent: the thread's next one, as `prompt/preview` would have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_turn_id: Option<TurnId>,
    /// The directory of the next turn; absent: the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether to compare with the prompt of a new thread instead of the next turn's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// Answers with what is to blame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDiffResult {
    /// How much can be reused, and what is to blame for the rest.
    pub blame: PromptBlame,
    /// How the thread's frozen start differs from the disk; absent when it does not, and between two turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenStart>,
}

/// Takes a round of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRebuildParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// The round; absent: the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// Answers with the records of a turn's prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnManifestResult {
    /// One a round, the first round first.
    pub manifests: Vec<RoundManifest>,
    /// What each round called and cost. Texts are left out, those of notes, summaries and questions included: `turn/explain`
    /// has them.
    pub rounds: Vec<ExplainedRound>,
}

super::in_workspace!(PromptPreviewParams, PromptDiffParams, PromptRebuildParams);
