//! Parameters and results of skills.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Skill, SkillSummary, ThreadId, WorkspaceId};

/// Directory whose skills to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Thread whose touched files count for skills with globs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Skills and their outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillListResult {
    /// The skills, nearest first.
    pub skills: Vec<SkillSummary>,
    /// Number of skills beyond the limit of one result; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
    /// Problems that make the list incomplete, such as an unreadable trust file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A skill of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Thread whose touched files count for skills with globs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Slug of the skill.
    pub slug: String,
}

/// A skill: the usable one, or else the nearest unusable one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillGetResult {
    /// The skill.
    pub skill: Skill,
}

super::in_workspace!(SkillListParams, SkillGetParams);
