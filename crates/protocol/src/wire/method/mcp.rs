//! Parameters and results about servers of the Model Context Protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::McpServer;

/// Takes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpStatusParams {}

/// Answers with the servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpStatusResult {
    /// The configured servers, by name. A token bound to a workspace gets those that name the workspace.
    pub servers: Vec<McpServer>,
    /// Whether servers are configured and switched off, so that there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_off: bool,
}

super::outside_workspaces!(McpStatusParams);
