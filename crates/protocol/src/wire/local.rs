//! Files through which commands on the same machine find a running gateway.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File that names the running gateway. It is valid only while the lock is held.
// A crashed gateway leaves this file behind, so readers must test the lock before they trust it.
pub const GATEWAY_FILE: &str = "gateway.json";
/// File locked by a running gateway until it exits.
pub const LOCK_FILE: &str = "gateway.lock";
/// File with the owner's token, written on first start.
pub const OWNER_TOKEN_FILE: &str = "owner.token";
/// Embedded database.
pub const DATABASE_FILE: &str = "foreword.db";
/// Directory of unsaved editor texts, below the data directory.
pub const DRAFTS_DIRECTORY: &str = "drafts";
/// Default listen address of a gateway.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:4670";

/// Content of `gateway.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayFile {
    /// HTTP base address, such as `http://127.0.0.1:4670`.
    pub url: String,
    /// Process id of the gateway.
    pub pid: u32,
}
