//! Parameters and results of MCP servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::McpServer;

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpStatusParams {}

/// State of the configured MCP servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpStatusResult {
    /// The servers, by name. A token bound to a workspace receives those configured for it.
    pub servers: Vec<McpServer>,
    /// True if servers are configured but switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_off: bool,
}

super::outside_workspaces!(McpStatusParams);
