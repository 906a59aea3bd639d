//! Tools of an MCP server in turns, with the server that the tests of `mcp` attack us with.

use std::path::Path;

use mcp::{McpSettings, ServerSettings};
use scripted_model::Answer;
use serde_json::{Value, json};
use tools::Permission;

use crate::support::{Setting, Socket, Stage};

async fn stage(write: Permission) -> Stage {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/hostile_server.py");
    let server = ServerSettings {
        command: Some("python3".to_owned()),
        args: vec![script.to_str().unwrap().to_owned(), "plain".to_owned(), "/dev/null".to_owned()],
        tools: Some(vec!["echo".to_owned(), "crash".to_owned()]),
        write,
        ..ServerSettings::default()
    };
    let program = tools::Program::at(test_sandbox::guard_program().unwrap());
    let mcp = McpSettings { servers: [("odd".to_owned(), server)].into(), program, ..McpSettings::default() };
    Stage::set(Setting { mcp, ..Setting::default() }).await
}

fn listed(body: &Value) -> Vec<&str> {
    let names = body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.starts_with("mcp__")).collect()
}

fn results(turn: &Value) -> Vec<&str> {
    let steps = turn["steps"].as_array().into_iter().flatten();
    let results = steps.flat_map(|step| step["results"].as_array().into_iter().flatten());
    results.filter_map(|result| result["text"].as_str()?.lines().next()).collect()
}

#[tokio::test]
async fn selecting_a_server_makes_its_tools_visible() {
    let mut stage = stage(Permission::Ask).await;
    let unknown = json!({ "thread_id": stage.thread, "input": "x", "mcp": ["even"] });
    let data = stage.socket.refused(-32004, "turn/start", stage.with(unknown)).await;
    assert_eq!((&data["what"], &data["id"]), (&json!("mcp_server"), &json!("even")));
    let idle = stage.socket.ok("mcp/status", json!({})).await;
    assert_eq!((&idle["servers"][0]["state"], &idle["servers"][0]["starts"]), (&json!("idle"), &json!(0)));

    stage.model.answer(Answer::empty().tool_call("a", "mcp__odd__echo", r#"{"text":"hello"}"#));
    stage.model.answer(Answer::text("It says hello."));
    let turn = stage.start_with(json!({ "input": "ask it", "mcp": ["odd"] })).await;
    let waiting = stage.until(&turn, |answer| answer["approvals"] != json!([])).await;
    assert_eq!(waiting["approvals"][0]["rule"], "mcp.servers.odd.write = ask");
    let allowed = stage.with(json!({ "turn_id": turn, "call_id": "a", "allow": true }));
    stage.socket.ok("turn/approve", allowed).await;
    let ended = stage.ended(&turn).await;
    assert_eq!(results(&ended), ["hello"]);
    // The next turn selects no server and keeps the tools that were requested.
    stage.model.answer(Answer::text("Yes."));
    stage.ask("still there?").await;
    for body in stage.bodies() {
        assert_eq!(listed(&body), ["mcp__odd__echo", "mcp__odd__crash"]);
    }
    let status = stage.socket.ok("mcp/status", json!({})).await;
    let server = &status["servers"][0];
    assert_eq!(
        (&server["state"], &server["tools"]),
        (&json!("running"), &json!(["mcp__odd__echo", "mcp__odd__crash"]))
    );
    // The command line may contain secrets, and every reader may call `mcp/status`.
    assert!(!status.to_string().contains("hostile_server.py"), "{status}");
}

#[tokio::test]
async fn a_hidden_server_is_listed_but_access_is_checked() {
    let mut stage = stage(Permission::Allow).await;
    let request = r#"{"tools":["mcp__odd__echo"]}"#;
    stage.model.answer(Answer::empty().tool_call("a", "request_tools", request));
    stage.model.answer(Answer::empty().tool_call("b", "mcp__odd__echo", r#"{"text":"hello"}"#));
    stage.model.answer(Answer::text("It says hello."));
    let turn = stage.ask("ask it").await;
    assert_eq!(results(&turn), ["Added, to be called from now on: mcp__odd__echo", "hello"]);
    let bodies = stage.bodies();
    assert!(
        bodies[0]["system"].to_string().contains("mcp:odd:\\n- mcp__odd__echo: Answers with its argument.")
    );
    assert_eq!((listed(&bodies[0]).len(), listed(&bodies[1]).len()), (0, 1));

    // A token for this workspace gets the same list of tools, but not the tool.
    let made = stage.with(json!({ "name": "bound", "role": "operator" }));
    let made = stage.socket.ok("token/create", made).await;
    let secret = made["secret"].as_str().unwrap().to_owned();
    let owner = std::mem::replace(&mut stage.socket, Socket::connect(&stage.gateway, &secret).await);
    stage.model.answer(Answer::empty().tool_call("c", "request_tools", request));
    stage.model.answer(Answer::text("It cannot be had."));
    let refused = stage.ask("ask it again").await;
    let text = refused["steps"].to_string();
    assert!(text.contains("is bound to its workspace"), "{text}");
    assert_eq!(listed(&stage.last_body()).len(), 0);
    let servers = stage.socket.ok("mcp/status", json!({})).await;
    assert_eq!(servers, json!({ "servers": [] }));
    drop(owner);
}

#[tokio::test]
async fn a_preview_starts_no_server() {
    let mut stage = stage(Permission::Allow).await;
    let asked = stage.with(json!({ "thread_id": stage.thread }));
    // A preview is a read and open to every reader, so it must not run programs.
    let preview = stage.socket.ok("prompt/preview", &asked).await;
    let told = "the MCP server `odd` was never asked what it offers; the next turn asks it";
    assert!(preview["manifest"]["diagnostics"].to_string().contains(told), "{}", preview["manifest"]);
    let status = stage.socket.ok("mcp/status", json!({})).await;
    assert_eq!(status["servers"][0]["starts"], 0);
    stage.model.answer(Answer::text("Yes."));
    stage.ask("hello").await;
    let preview = stage.socket.ok("prompt/preview", &asked).await;
    assert!(preview["full_text"].as_str().unwrap().contains("mcp:odd:\n- mcp__odd__echo"), "{preview}");
    assert!(!preview.to_string().contains("was never asked"), "{preview}");
}
