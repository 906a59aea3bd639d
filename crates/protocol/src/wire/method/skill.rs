//! Parameters and results about skills.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Skill, SkillSummary, ThreadId, WorkspaceId};

/// Takes the place whose skills are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// A thread, whose touched files count for skills that are for paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The directory; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Answers with what became of every skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillListResult {
    /// The skills, nearest first.
    pub skills: Vec<SkillSummary>,
    /// How many more there are than one answer has; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
    /// What keeps the list from being the whole truth, such as a file of trust that cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Takes a skill of a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// A thread, whose touched files count for skills that are for paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The directory; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The skill, by its slug.
    pub slug: String,
}

/// Answers with a skill: the one that can be used, or else the nearest that cannot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillGetResult {
    /// The skill.
    pub skill: Skill,
}

super::in_workspace!(SkillListParams, SkillGetParams);
