//! The protocol of the MCP server, tested with a small catalog.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_server::{McpCatalog, Refusal, Server, ServerSettings, Session, ToolAnswer, serve};
use rmcp::model::{Resource, ResourceTemplate, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[derive(Default, Clone)]
struct Notes {
    text: Arc<Mutex<String>>,
}

impl McpCatalog for Notes {
    fn tools(&self) -> Vec<Tool> {
        let schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        let tool = Tool::new("shout", "Says it louder.", schema);
        vec![tool.with_annotations(ToolAnnotations::new().read_only(true))]
    }

    fn call(&self, client: &str, _: &str, arguments: &Value) -> Result<ToolAnswer, Refusal> {
        let said = arguments["text"].as_str().ok_or_else(|| Refusal::new("`text` is missing"))?;
        let text = format!("{}, {client}!", said.to_uppercase());
        Ok(ToolAnswer { data: Some(json!({ "said": text })), text })
    }

    fn resources(&self) -> Vec<Resource> {
        vec![Resource::new("notes://all", "notes").with_description("All notes.")]
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    fn read(&self, uri: &str) -> Result<String, Refusal> {
        match uri {
            "notes://all" => Ok(self.text.lock().unwrap().clone()),
            _ => Err(Refusal::new(format!("there is no resource {uri}"))),
        }
    }
}

fn server(notes: Notes, look_every: Duration) -> Server<Notes> {
    let settings = ServerSettings { version: "1.2.3", look_every, working: Vec::new() };
    Server::new(notes, Arc::new(Session::new(2)), settings)
}

/// Sends lines to a new server and returns its answers.
async fn say(lines: &[&str]) -> Vec<Value> {
    let (near, mut far) = tokio::io::duplex(64 * 1024 * 1024);
    far.write_all(lines.join("\n").as_bytes()).await.unwrap();
    far.shutdown().await.unwrap();
    let (input, output) = tokio::io::split(near);
    let server = server(Notes::default(), Duration::from_secs(60));
    serve(server, BufReader::new(input), output).await.unwrap();
    let mut answers = BufReader::new(far).lines();
    let mut read = Vec::new();
    while let Some(line) = answers.next_line().await.unwrap() {
        read.push(serde_json::from_str(&line).unwrap());
    }
    read
}

#[tokio::test]
async fn a_client_initializes_and_calls_a_tool() {
    let answers = say(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ada","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shout","arguments":{"text":"hi"}}}"#,
    ])
    .await;
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[0]["result"]["serverInfo"]["version"], "1.2.3");
    assert_eq!(
        (&answers[1]["id"], &answers[1]["result"]["tools"][0]["name"]),
        (&json!("b"), &json!("shout"))
    );
    assert!(answers[1]["result"]["tools"][0]["inputSchema"].is_object());
    assert_eq!(answers[2]["result"]["content"][0]["text"], "HI, ada!");
    assert_eq!(answers[2]["result"]["structuredContent"]["said"], "HI, ada!");
}

#[tokio::test]
async fn any_input_is_answered() {
    let answers = say(&[
        "",
        "not json",
        "[]",
        "7",
        r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nobody"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shout"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"notes://none"}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"resources/read"}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#,
    ])
    .await;
    let codes: Vec<i64> = answers.iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32601, -32602, -32002, -32602]);
    assert_eq!(answers[5]["result"]["isError"], true, "the model is told, and may try again");
    assert_eq!(answers[8]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answers[9], json!([{ "jsonrpc": "2.0", "id": 8, "result": {} }]));
    assert_eq!(answers.len(), 10);
}

#[tokio::test]
async fn subscribers_are_notified_of_changes() {
    let notes = Notes::default();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(near);
    let serving =
        tokio::spawn(serve(server(notes.clone(), Duration::from_millis(5)), BufReader::new(input), output));
    let (heard, mut said) = tokio::io::split(far);
    let mut lines = BufReader::new(heard).lines();
    let mut next =
        async || -> Value { serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap() };
    said.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"notes://all\"}}\n").await.unwrap();
    assert_eq!(next().await["id"], 1);
    notes.text.lock().unwrap().push_str("new");
    let told = next().await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "notes://all");
    // The next line is the answer to the ping, so the change was announced only once.
    said.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
    assert_eq!(next().await["id"], 2);
    said.shutdown().await.unwrap();
    serving.await.unwrap().unwrap();
}

/// What every request of protocol 2026-07-28 carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "eve", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn protocol_2026_07_28_is_spoken_without_a_handshake() {
    let call = |id: u64, method: &str, mut params: Value| {
        params["_meta"] = meta();
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let answers = say(&[
        &call(1, "server/discover", json!({})),
        &call(2, "tools/call", json!({ "name": "shout", "arguments": { "text": "hi" } })),
        &call(3, "ping", json!({})),
    ])
    .await;
    let versions = answers[0]["result"]["supportedVersions"].as_array().unwrap();
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")),
        "{answers:?}"
    );
    assert_eq!(answers[1]["result"]["content"][0]["text"], "HI, eve!");
    assert_eq!(answers[1]["result"]["resultType"], "complete");
    assert_eq!(answers[2]["error"]["code"], -32601, "the version has no ping");
}

#[tokio::test]
async fn followed_addresses_and_client_names_are_limited() {
    let address = format!("notes://{}", "x".repeat(5000));
    let name = "n".repeat(5000);
    let answers = say(&[
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": address } }).to_string(),
        &json!({ "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": name, "version": "1" },
        } }).to_string(),
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shout","arguments":{"text":"hi"}}}"#,
    ])
    .await;
    assert_eq!(answers[0]["error"]["code"], -32602, "{answers:?}");
    let text = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), "HI, !".len() + 100, "{text}");
}

#[tokio::test]
async fn invalid_messages_are_answered_and_do_not_block() {
    // Longer than the limit. The server must skip the rest of the line; otherwise it would take the rest for a message.
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":"{}"}}"#, "x".repeat(9 * 1024 * 1024));
    let answers = say(&[
        &long,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ])
    .await;
    let codes: Vec<Option<i64>> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32600), Some(-32600), Some(-32600), None]);
    assert_eq!(answers[3]["id"], 2);
}
