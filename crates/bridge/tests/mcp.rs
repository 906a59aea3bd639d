//! The protocol of the MCP server, tested with a small catalog.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use bridge::mcp::{McpCatalog, Refusal, Resource, Tool, ToolAnswer, serve};
use serde_json::{Value, json};

#[derive(Default)]
struct Notes {
    text: Mutex<String>,
}

impl McpCatalog for Notes {
    fn tools(&self) -> Vec<Tool> {
        vec![Tool {
            name: "shout",
            description: "Says it louder.",
            input_schema: json!({ "type": "object" }),
            annotations: json!({ "readOnlyHint": true }),
        }]
    }

    fn call(&self, client: &str, _: &str, arguments: &Value) -> Result<ToolAnswer, Refusal> {
        let said = arguments["text"].as_str().ok_or_else(|| Refusal::new("`text` is missing"))?;
        let text = format!("{}, {client}!", said.to_uppercase());
        Ok(ToolAnswer { data: Some(json!({ "said": text })), text })
    }

    fn resources(&self) -> Vec<Resource> {
        vec![Resource { uri: "notes://all".into(), name: "notes".into(), description: "All notes." }]
    }

    fn templates(&self) -> Vec<Resource> {
        Vec::new()
    }

    fn read(&self, uri: &str) -> Result<String, Refusal> {
        match uri {
            "notes://all" => Ok(self.text.lock().unwrap().clone()),
            _ => Err(Refusal::new(format!("there is no resource {uri}"))),
        }
    }
}

/// Sends lines to a new server and returns its answers.
fn say(lines: &[&str]) -> Vec<Value> {
    let input = Cursor::new(lines.join("\n"));
    let mut output = Vec::new();
    serve(&Notes::default(), "1.2.3", Duration::from_secs(60), input, &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_client_says_hello_and_calls_a_tool() {
    let answers = say(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ada","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"shout","arguments":{"text":"hi"}}}"#,
    ]);
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

#[test]
fn whatever_is_sent_is_answered() {
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
    ]);
    let codes: Vec<i64> = answers.iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32601, -32602, -32002, -32602]);
    assert_eq!(answers[5]["result"]["isError"], true, "the model is told, and may try again");
    assert_eq!(answers[8]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answers[9], json!([{ "jsonrpc": "2.0", "id": 8, "result": {} }]));
    assert_eq!(answers.len(), 10);
}

#[test]
fn who_follows_a_resource_is_told_when_it_is_another() {
    let notes = Notes::default();
    let (theirs, mut ours) = std::io::pipe().unwrap();
    let (heard, said) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        let notes = &notes;
        scope.spawn(move || {
            serve(notes, "1", Duration::from_millis(5), BufReader::new(theirs), said).unwrap()
        });
        let mut lines =
            BufReader::new(heard).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        ours.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"notes://all\"}}\n").unwrap();
        assert_eq!(lines.next().unwrap()["id"], 1);
        notes.text.lock().unwrap().push_str("new");
        let told = lines.next().unwrap();
        assert_eq!(told["method"], "notifications/resources/updated");
        assert_eq!(told["params"]["uri"], "notes://all");
        // The next line is the answer to the ping, so the change was announced only once.
        ours.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").unwrap();
        assert_eq!(lines.next().unwrap()["id"], 2);
        drop(ours);
    });
}

#[test]
fn a_message_that_is_too_long_and_ids_that_are_none_are_answered_and_the_next_one_is_heard() {
    // Longer than the limit. The server must skip the rest of the line; otherwise it would take the rest for a message.
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":"{}"}}"#, "x".repeat(9 * 1024 * 1024));
    let answers = say(&[
        &long,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ]);
    let codes: Vec<Option<i64>> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [Some(-32600), Some(-32600), Some(-32600), None]);
    assert_eq!(answers[3]["id"], 2);
}
