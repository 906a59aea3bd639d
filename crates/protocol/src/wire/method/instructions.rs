//! Parameters of instruction-file comparisons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WorkspaceId;
pub use crate::compare::Comparison;

/// Directory and agents to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionsCompareParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Directory inside the workspace's own; absent for the workspace's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Path of a file that a tool reads after startup, relative to `path`. It must be inside the workspace's
    /// directory and need not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Names of profiles; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
}

super::in_workspace!(InstructionsCompareParams);
