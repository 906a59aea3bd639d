//! `foreword mcp status`.

use protocol::mcp::McpServer;
use protocol::method::{McpStatus, McpStatusParams};

use crate::context::Context;
use crate::enum_names::enum_str;
use crate::failure::{Exit, Failure};
use crate::output::{shown_name, table};

pub(crate) async fn run(context: &Context) -> Result<Exit, Failure> {
    let result = context.connect().await?.call::<McpStatus>(&McpStatusParams {}).await?;
    if result.servers.is_empty() && !context.output.is_json() {
        context.output.note(if result.are_off {
            "MCP servers are switched off (mcp.enabled = false)"
        } else {
            "no MCP server is configured; add a section [mcp.servers.NAME] to the gateway's config.toml"
        });
        return Ok(Exit::Done);
    }
    context.output.data(&result, || {
        let rows = result.servers.iter().map(|server| {
            vec![
                shown_name(&server.name),
                enum_str(&server.transport).to_owned(),
                enum_str(&server.state).to_owned(),
                match server.tools.len() {
                    // A server that was never started has an unknown number of tools, not zero.
                    0 if server.starts == 0 => "-".to_owned(),
                    tools => tools.to_string(),
                },
                if server.hidden { "yes" } else { "no" }.to_owned(),
            ]
        });
        let mut text = table(&["server", "transport", "state", "tools", "hidden"], rows);
        for (server, about) in result.servers.iter().flat_map(remarks) {
            text.push_str(&format!("{server}: {about}\n"));
        }
        text
    })?;
    Ok(Exit::Done)
}

/// Returns the problems of a server, one per line.
fn remarks(server: &McpServer) -> impl Iterator<Item = (&str, &str)> {
    let about = server.failure.iter().chain(&server.problems);
    about.map(|about| (server.name.as_str(), about.as_str()))
}
