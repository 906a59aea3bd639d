//! Parameters and results of workspaces.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{AgentsConfig, Workspace, WorkspaceId};

/// Reads settings and checks the constraints of the public schema.
// Checked here and not in `AgentsConfig` itself: a settings file or flag may set a limit of 0, which the wire
// must reject.
fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AgentsConfig>, D::Error> {
    let config = Option::<AgentsConfig>::deserialize(deserializer)?;
    config.iter().try_for_each(AgentsConfig::check).map_err(serde::de::Error::custom)?;
    Ok(config)
}

/// Fields of a new workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceCreateParams {
    /// Display name.
    pub name: String,
    /// Absolute path of the directory in which its threads work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// Settings for AGENTS.md files on disk.
    #[serde(default, deserialize_with = "checked", skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
}

/// Fields of a workspace to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceUpdateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absolute path of the directory in which its threads work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// Settings for AGENTS.md files on disk, replacing the previous settings.
    // Replaced as a whole: merging could not express that a setting returns to its default.
    #[serde(default, deserialize_with = "checked", skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
}

impl WorkspaceUpdateParams {
    /// Creates parameters that change nothing.
    pub fn unchanged(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, name: None, root_path: None, agents: None }
    }
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Filter for workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceListParams {
    /// True to list archived workspaces instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceResult {
    /// The workspace.
    pub workspace: Workspace,
}

/// Workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceListResult {
    /// The workspaces, oldest first.
    pub workspaces: Vec<Workspace>,
    /// Number of running turns in them; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_turns: Option<u64>,
}

super::outside_workspaces!(WorkspaceCreateParams, WorkspaceListParams);
super::in_workspace!(WorkspaceUpdateParams, WorkspaceGetParams);
