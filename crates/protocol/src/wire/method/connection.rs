//! Parameters and results about the connection itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InstanceId, Sequence, WorkspaceId};

/// The version of this protocol, as `initialize` answers it.
pub const PROTOCOL_VERSION: &str = "1";

/// A program and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Takes who is calling.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// The calling program. One that calls itself `mcp:NAME` speaks for an MCP client: documents that it saves are saved by
    /// `mcp:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Program>,
}

/// Answers with who is answering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeResult {
    /// The protocol's version.
    pub protocol_version: String,
    /// The gateway.
    pub server: Program,
    /// The database; another one than before means that everything a client knows must be loaded again.
    pub instance: InstanceId,
    /// What it can do on this connection.
    pub capabilities: Capabilities,
}

/// What a gateway can do on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Names of all methods.
    pub methods: Vec<String>,
    /// Whether `events/subscribe` works on this transport.
    pub events: bool,
    /// Most bytes of one incoming message.
    pub max_message_bytes: u64,
    /// Most bytes of a document's text.
    pub max_document_bytes: u64,
}

/// Takes the workspace to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsSubscribeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The last sequence number already seen; absent: only what happens from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Sequence>,
}

/// Takes the workspace to follow no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsUnsubscribeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Answers with the workspace's present sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsResult {
    /// The newest change at the time of the answer.
    pub seq: Sequence,
}

super::outside_workspaces!(InitializeParams);
super::in_workspace!(EventsSubscribeParams, EventsUnsubscribeParams);
