//! State of configured MCP servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A configured MCP server, without its command and address, which may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Name in the configuration.
    pub name: String,
    /// Transport to the server.
    pub transport: McpTransport,
    /// State of the server.
    pub state: McpState,
    /// Names of its tools as models call them, from its last listing.
    pub tools: Vec<String>,
    /// True if its tools are sent only after a model requested them.
    pub hidden: bool,
    /// Number of starts since the gateway started.
    pub starts: u64,
    /// Last error, if no call has succeeded since.
    // Cleared by the next successful call, so that an error from last week does not look current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Omitted or changed tools, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Transport to an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum McpTransport {
    /// Standard input and output of a child process.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// State of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum McpState {
    /// Not started, because no turn has needed it.
    Idle,
    /// Started, but not initialized yet.
    Starting,
    /// Ready for calls.
    Running,
    /// Failed to start, or exited. The next call restarts it, after a delay if it keeps failing.
    Failed,
}

/// Returns the tool domain of an MCP server.
// The prefix keeps a server named like a built-in domain from being enabled together with it.
pub fn tool_domain(server: &str) -> String {
    format!("mcp:{server}")
}
