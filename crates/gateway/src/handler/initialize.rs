//! `initialize`.

use protocol::error::ErrorObject;
use protocol::limits::MAX_DOCUMENT_BYTES;
use protocol::method::{
    Capabilities, InitializeParams, InitializeResult, METHODS, PROTOCOL_VERSION, Program,
};
use protocol::{MCP_CLIENT, mcp_client};
use rpc::Reply;

use crate::router::Context;

pub(crate) async fn initialize(context: Context, params: InitializeParams) -> Result<Reply, ErrorObject> {
    if let Some(client) = params.client {
        // `foreword mcp` connects on behalf of another program and passes on its name. The author of a save remains the
        // token, because a program may call itself anything.
        if let Some(client) = client.name.strip_prefix(MCP_CLIENT) {
            context.peer.set_client(&mcp_client(client));
        }
        tracing::debug!(name = %client.name, version = %client.version, "a client introduced itself");
    }
    Ok(Reply::new(InitializeResult {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        server: Program { name: "foreword".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        instance: context.shared.instance(),
        actor: context.peer.actor.name.clone(),
        role: context.peer.actor.role,
        workspace_id: context.peer.actor.workspace_id.clone(),
        capabilities: Capabilities {
            methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
            events: context.peer.outgoing().is_some(),
            max_message_bytes: context.shared.settings.limits.message_bytes as u64,
            max_document_bytes: MAX_DOCUMENT_BYTES as u64,
        },
    }))
}
