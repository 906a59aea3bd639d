//! Parameters and results of connections and subscriptions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InstanceId, Role, Sequence, Timestamp, WorkspaceId};

/// Version of this protocol, as returned by `initialize`.
pub const PROTOCOL_VERSION: &str = "1";

/// A program and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name of the program.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// The calling client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// The client. One named `mcp:NAME` acts for an MCP client, and the history names it beside the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Program>,
}

/// The responding gateway and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeResult {
    /// Version of the protocol.
    pub protocol_version: String,
    /// The gateway.
    pub server: Program,
    /// Id of the database, and of its history if a PostgreSQL standby was promoted. If it changed, clients must reload everything
    /// they know.
    pub instance: InstanceId,
    /// Name of the caller's token, or `stdio`.
    pub actor: String,
    /// Role of the caller.
    pub role: Role,
    /// The only workspace that the caller may access; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// Capabilities of this connection.
    pub capabilities: Capabilities,
}

/// Capabilities of a gateway on one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Names of all methods.
    pub methods: Vec<String>,
    /// True if `events/subscribe` works on this transport.
    pub events: bool,
    /// Most bytes of one incoming message.
    pub max_message_bytes: u64,
    /// Most bytes of a document's text.
    pub max_document_bytes: u64,
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsoleCodeParams {}

/// A code for signing in to the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleCodeResult {
    /// The code. The console takes it from the fragment of its address: `/console/#code=CODE`.
    pub code: String,
    /// Time at which the code expires if it was not used.
    pub expires_at: Timestamp,
}

/// Workspace to subscribe to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsSubscribeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Last sequence number already seen; absent to receive only new changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Sequence>,
    /// Value of `instance` in the answer to `initialize` when that change was seen. If it is another one now, the answer is
    /// -32012, because the number may belong to another change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
}

/// Workspace to unsubscribe from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsUnsubscribeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Current sequence number of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsResult {
    /// Newest change at the time of the response.
    pub seq: Sequence,
}

super::outside_workspaces!(InitializeParams, ConsoleCodeParams);
super::in_workspace!(EventsSubscribeParams, EventsUnsubscribeParams);
