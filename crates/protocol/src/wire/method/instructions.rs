//! Parameters and results about instruction files on disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WorkspaceId;
pub use crate::compare::Comparison;

/// Takes a directory and agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionsCompareParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The directory; absent: the workspace's own. It must be inside that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A file that a tool reads after the start, from `path`; it must be inside the workspace's directory and need not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
    /// Names of profiles; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
}

super::in_workspace!(InstructionsCompareParams);
