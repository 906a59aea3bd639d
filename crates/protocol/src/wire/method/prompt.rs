//! Parameters and results of prompts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::preview::{FrozenStart, PromptSizes};
pub use crate::prompt::RoundManifest;
use crate::prompt::{PromptBlame, PromptManifest};
use crate::round::ExplainedRound;
use crate::{ThreadId, ToolSpec, TurnId, WorkspaceId};

/// Thread whose next prompt to return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptPreviewParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Input of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Context for the turn, as in `turn/start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Slugs of skills that the turn selects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// True to ignore the thread's history and session, as in a new thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

impl PromptPreviewParams {
    /// Creates the parameters for the next prompt of a thread in the workspace's own directory.
    pub fn new(workspace_id: WorkspaceId, thread_id: ThreadId) -> Self {
        Self {
            workspace_id,
            thread_id,
            cwd: None,
            input: None,
            context: None,
            skills: Vec::new(),
            fresh: false,
        }
    }
}

/// A prompt and its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptResult {
    /// Text that is the same in every session.
    pub stable_text: String,
    /// Text that is the same throughout this session.
    pub session_text: String,
    /// Session text sent as the first user message; absent in profiles without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_text: String,
    /// Text of this turn, without sections that an earlier turn in the request contains.
    pub turn_text: String,
    /// All parts, joined by blank lines.
    pub full_text: String,
    /// Manifest of the prompt.
    pub manifest: PromptManifest,
    /// Size of the request; absent for a past prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<PromptSizes>,
    /// Tools of the first round as a model reads them; absent if there are none, and for a past prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Difference of the thread's frozen start from the disk; absent if there is none, and for a past prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenStart>,
    /// Reason for the project root if no directory has a marker, so that the workspace's directory is the root; absent
    /// otherwise, and for a past prompt. `foreword show` in the working directory finds other files then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_fallback: Option<String>,
}

/// Two prompts to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptDiffParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The earlier turn.
    pub turn_id: TurnId,
    /// The later turn; absent for the thread's next one, as in `prompt/preview`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_turn_id: Option<TurnId>,
    /// Directory of the next turn; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// True to compare with the prompt of a new thread instead of the next turn's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
}

/// Difference between two prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDiffResult {
    /// Reusable part of the prompt, and the cause of the rest.
    pub blame: PromptBlame,
    /// Difference of the thread's frozen start from the disk; absent if there is none, and between two turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenStart>,
}

/// Round of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRebuildParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The turn.
    pub turn_id: TurnId,
    /// Number of the round; absent for the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// Manifests of a turn's prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnManifestResult {
    /// Manifests by round, first round first.
    pub manifests: Vec<RoundManifest>,
    /// Calls and usage of each round, without texts of notes, summaries and approvals, which `turn/explain`
    /// returns.
    pub rounds: Vec<ExplainedRound>,
}

super::in_workspace!(PromptPreviewParams, PromptDiffParams, PromptRebuildParams);
