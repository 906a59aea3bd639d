//! `mcp/status`.

use protocol::error::ErrorObject;
use protocol::method::{McpStatusParams, McpStatusResult};

use crate::router::Context;

pub(crate) async fn status(context: Context, _: McpStatusParams) -> Result<McpStatusResult, ErrorObject> {
    let workspace_id = context.peer.actor.workspace_id.as_ref();
    let servers = &context.shared.servers;
    Ok(McpStatusResult { servers: servers.status(workspace_id), are_off: servers.are_off() })
}
