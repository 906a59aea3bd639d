//! The client for the conformance suite of the Model Context Protocol, which `cargo xtask agents` runs.
//!
//! Connects to the server at the address in the last argument, lists its tools and calls each of them.

use mcp::{McpSettings, ServerSettings, Servers};
use sandbox::Program;
use serde_json::{Map, Value, json};
use tools::{Permission, RoundContext, Router, ToolCall, ToolContext};

/// Returns a value for every parameter of a tool.
fn arguments(schema: &Value) -> Value {
    let parameters = schema["properties"].as_object().cloned().unwrap_or_default();
    let value = |parameter: &Value| match parameter["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        _ => json!("text"),
    };
    parameters.iter().map(|(name, parameter)| (name.clone(), value(parameter))).collect::<Map<_, _>>().into()
}

async fn call_all_tools(url: String) -> anyhow::Result<()> {
    let memory = tempfile::tempdir()?;
    let server = ServerSettings { url: Some(url), write: Permission::Allow, ..ServerSettings::default() };
    let servers = [("conformance".to_owned(), server)].into();
    let program = Program::at(std::env::current_exe()?);
    let settings = McpSettings { enabled: true, servers, program };
    let servers = Servers::new(&settings, memory.path(), &[], |_| None);
    let source = servers.sources().remove(0);
    let toolbox = source.offer(&RoundContext::of_chat(1)).await;
    if let Some(failure) = servers.status(None).into_iter().find_map(|server| server.failure) {
        anyhow::bail!(failure);
    }
    let router = Router::all(&toolbox, ToolContext::without_directory());
    for spec in toolbox.specs() {
        let arguments = arguments(&spec.schema).to_string();
        let call = ToolCall { id: spec.name.clone(), name: spec.name.clone(), arguments };
        let output = router.call(call).await;
        anyhow::ensure!(!output.is_error, "{}: {}", spec.name, output.text);
    }
    servers.shut_down().await;
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let url = std::env::args().next_back().unwrap_or_default();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(call_all_tools(url))
}
