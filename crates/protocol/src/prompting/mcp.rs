//! Servers of the Model Context Protocol, and how they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A configured server. Neither its command nor its address: both may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// How it is.
    pub state: McpState,
    /// Its tools as models call them, by what it offered when it was last asked.
    pub tools: Vec<String>,
    /// Whether they are in a request only once a model has asked for them.
    pub hidden: bool,
    /// How often it was started since the gateway was.
    pub starts: u64,
    /// Why it failed last, if no call has succeeded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Tools that are left out or have changed, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum McpTransport {
    /// By the standard input and output of a process.
    Stdio,
    /// By streamable HTTP.
    Http,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum McpState {
    /// Nobody has needed it yet.
    Idle,
    /// It was started, and has not introduced itself yet.
    Starting,
    /// It can be called.
    Running,
    /// It could not be started, or has ended. The next call starts it again, after a wait if it keeps failing.
    Failed,
}

/// The domain of tools that a server's are.
pub fn tool_domain(server: &str) -> String {
    format!("mcp:{server}")
}
