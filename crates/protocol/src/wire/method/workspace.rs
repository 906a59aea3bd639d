//! Parameters and results about workspaces.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{AgentsConfig, Workspace, WorkspaceId};

/// Reads settings that the public schema allows.
fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AgentsConfig>, D::Error> {
    let config = Option::<AgentsConfig>::deserialize(deserializer)?;
    config.iter().try_for_each(AgentsConfig::check).map_err(serde::de::Error::custom)?;
    Ok(config)
}

/// Takes a workspace's fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceCreateParams {
    /// What people call it.
    pub name: String,
    /// Absolute path of the directory its threads work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// How AGENTS.md files on disk are found in it.
    #[serde(default, deserialize_with = "checked", skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
}

/// Takes the fields to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceUpdateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absolute path of the directory its threads work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// How AGENTS.md files on disk are found in it; replaces the old settings.
    #[serde(default, deserialize_with = "checked", skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
}

impl WorkspaceUpdateParams {
    /// Changes nothing of a workspace yet.
    pub fn unchanged(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, name: None, root_path: None, agents: None }
    }
}

/// Takes a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Takes which workspaces are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceListParams {
    /// The archived ones instead of those in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// Answers with a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceResult {
    /// The workspace.
    pub workspace: Workspace,
}

/// Answers with workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceListResult {
    /// The workspaces, oldest first.
    pub workspaces: Vec<Workspace>,
    /// How many turns run in them; absent when none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_turns: Option<u64>,
}

super::outside_workspaces!(WorkspaceCreateParams, WorkspaceListParams);
super::in_workspace!(WorkspaceUpdateParams, WorkspaceGetParams);
