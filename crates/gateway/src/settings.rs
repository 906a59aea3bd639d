use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use store::Database;

use crate::http::listener::ListenerLimits;

#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// Directory of the lock, the owner's token and the embedded database.
    pub data: PathBuf,
    /// Database; `None` for SQLite in the data directory.
    pub database: Option<Database>,
    /// Allow a database that differs from the one this data directory was used with before.
    pub new_database: bool,
    /// Listen address, such as `127.0.0.1:4670`; port 0 picks a free port.
    pub listen: String,
    /// Allow an address that other machines can reach.
    pub allow_remote: bool,
    /// Host names accepted in addition to loopback names.
    pub allowed_hosts: Vec<String>,
    /// Web origins accepted in addition to loopback origins.
    pub allowed_origins: Vec<String>,
    /// Serve the web console.
    pub console_enabled: bool,
    /// Maximum requests per second and token; `None` for no limit.
    pub rate_limit: Option<NonZeroU32>,
    /// Limits on connections and on the time requests may take to arrive.
    pub listener: ListenerLimits,
    /// Limits of a single connection.
    pub limits: rpc::ConnectionLimits,
    pub batch: rpc::BatchLimits,
    pub agent: agent::AgentSettings,
    /// MCP servers whose tools turns can use.
    pub mcp: mcp::McpSettings,
    /// Configured values by key, without secrets, recorded in the audit when the gateway starts.
    pub configured: BTreeMap<String, serde_json::Value>,
}

impl GatewaySettings {
    /// Returns settings for a gateway that only this machine can reach.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        let data = data.into();
        Self {
            agent: agent::AgentSettings::new(data.join("home")),
            data,
            database: None,
            new_database: false,
            listen: protocol::local::DEFAULT_ADDRESS.to_owned(),
            allow_remote: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            console_enabled: true,
            rate_limit: None,
            mcp: mcp::McpSettings::default(),
            configured: BTreeMap::new(),
            listener: ListenerLimits::default(),
            batch: rpc::BatchLimits {
                calls: protocol::limits::MAX_BATCH_CALLS,
                answer_bytes: protocol::limits::MAX_BATCH_ANSWER_BYTES,
            },
            limits: rpc::ConnectionLimits {
                message_bytes: protocol::limits::MAX_MESSAGE_BYTES,
                ..rpc::ConnectionLimits::default()
            },
        }
    }
}
