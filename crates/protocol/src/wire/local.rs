//! The files through which a command on the same machine finds a running gateway.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a running gateway; only valid while the lock is held.
pub const GATEWAY_FILE: &str = "gateway.json";
/// Locked by the running gateway for as long as it lives.
pub const LOCK_FILE: &str = "gateway.lock";
/// The owner's token, written on first start.
pub const OWNER_TOKEN_FILE: &str = "owner.token";
/// The embedded database.
pub const DATABASE_FILE: &str = "foreword.db";
/// Texts that an editor left behind, below the data directory.
pub const DRAFTS_DIRECTORY: &str = "drafts";
/// Where a gateway listens unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:4670";

/// The content of `gateway.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayFile {
    /// HTTP base address, such as `http://127.0.0.1:4670`.
    pub url: String,
    /// Process id of the gateway.
    pub pid: u32,
}
