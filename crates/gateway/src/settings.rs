//! What a gateway is started with.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use store::Database;

use crate::http::listener::ListenerLimits;

/// Settings of one gateway.
#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// Directory of the lock, the owner's token and the embedded database.
    pub data: PathBuf,
    /// The database; none: SQLite in the data directory.
    pub database: Option<Database>,
    /// Whether a database may take the place of another that this data directory was used with before.
    pub new_database: bool,
    /// Where to listen, such as `127.0.0.1:4670`; port 0 takes a free one.
    pub listen: String,
    /// Whether an address that other machines can reach is allowed.
    pub allow_remote: bool,
    /// Names besides the loopback ones that clients may call this gateway by.
    pub allowed_hosts: Vec<String>,
    /// Web origins besides the loopback ones whose pages may connect.
    pub allowed_origins: Vec<String>,
    /// Most requests a second for each token; none: no limit.
    pub rate_limit: Option<NonZeroU32>,
    /// Bounds of all connections together, and of what they may take to arrive.
    pub listener: ListenerLimits,
    /// Bounds of each connection.
    pub limits: rpc::ConnectionLimits,
    /// Bounds of each batch.
    pub batch: rpc::BatchLimits,
    /// How prompts are made, and from what.
    pub agent: agent::AgentSettings,
    /// Whose tools turns have besides our own.
    pub mcp: mcp::McpSettings,
    /// What somebody configured, by key and without secrets: the audit says with what a gateway was started.
    pub configured: BTreeMap<String, serde_json::Value>,
}

impl GatewaySettings {
    /// The settings of a gateway on this machine alone.
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
