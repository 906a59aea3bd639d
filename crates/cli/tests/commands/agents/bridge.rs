//! `foreword hook`, `install`, `sync` and `mcp`.

use serde_json::json;

use crate::support::Machine;

fn project() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "ROOT RULES\n");
    machine.write("project/sub/AGENTS.md", "SUB RULES\n");
    machine.write("project/sub/x.rs", "");
    machine
}

fn touching(machine: &Machine, path: &str) -> String {
    json!({
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": machine.project(), "tool_name": "Bash",
        "tool_input": { "command": format!("cat {path}") },
    })
    .to_string()
}

#[test]
fn a_hook_answers_once_and_hashes_session_names() {
    let machine = project();
    let said = machine.run_with("hook claude-code", touching(&machine, "sub/x.rs"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.contains("SUB RULES") && !said.out.contains("ROOT RULES"), "{said:?}");
    assert_eq!(machine.run_with("hook claude-code", touching(&machine, "sub/x.rs")).done(), "");
    // The session id comes from another program and may contain anything, including `../`. As a file name
    // only its digest is used, which has a fixed length and no separators.
    let sessions = std::fs::read_dir(machine.data().join("hook-sessions")).unwrap();
    let names: Vec<String> =
        sessions.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(matches!(&names[..], [name] if name.len() == 64 + ".json".len()), "{names:?}");
}

#[test]
fn hooks_never_exit_with_the_blocking_code() {
    let machine = project();
    // Claude Code and others treat exit code 2 of a hook as a veto. A typo in a hook's command line would
    // then block every tool call, so all failures end with 1, even wrong usage.
    for (words, input) in [
        ("hook", ""),
        ("hook claude-code --unknown", ""),
        ("--home nowhere hook claude-code extra words", ""),
        ("hook nobody", "{}"),
        ("hook opencode", "{}"),
        ("hook claude-code", ""),
        ("hook claude-code", "not json"),
        ("--config missing.toml hook claude-code", "{}"),
        ("hook claude-code --format nonsense", "{}"),
    ] {
        let said = machine.run_with(words, input);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{words}: {said:?}");
        assert!(!said.err.is_empty(), "{words}");
    }
    machine.write("home/config.toml", "nonsense = 1\n");
    let said = machine.run_with("hook claude-code", touching(&machine, "sub/x.rs"));
    assert_eq!(said.code, Some(1), "{said:?}");
    // Elsewhere wrong usage is what it was.
    assert_eq!(machine.run("sync --unknown").code, Some(2));
    assert_eq!(machine.run("hook --help").code, Some(0));
}

#[test]
fn an_agent_is_connected_and_disconnected() {
    let machine = project();
    // The comment is the point: settings of agents are JSON with comments, and a plain JSON round trip
    // would silently delete it.
    let settings = machine.write(".claude/settings.json", "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    let before = std::fs::read_to_string(&settings).unwrap();
    let shown = machine.run("install claude-code --dry-run").done();
    assert!(shown.contains("+        \"hooks\": [") && shown.contains("hook claude-code"), "{shown}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
    assert_eq!(machine.run("install claude-code").done(), shown);
    assert!(std::fs::read_to_string(&settings).unwrap().contains("// mine"));
    let again = machine.run("install claude-code --format json").object();
    assert_eq!((&again["change"], &again["done"]), (&json!(null), &json!(false)), "{again}");
    let undone = machine.run("install claude-code --undo --format json").object();
    assert_eq!(undone["undone"], "restored", "{undone}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
}

#[test]
fn a_projects_settings_name_the_program_alone() {
    let machine = project();
    machine.run("install codex --scope project").done();
    // These settings are committed and shared. An absolute path of one developer's machine would break the
    // hook for everyone else.
    let text = std::fs::read_to_string(machine.project().join(".codex/hooks.json")).unwrap();
    assert!(text.contains("\"foreword hook codex\""), "{text}");
    machine.run("install codex --scope project --undo").done();
    assert!(!machine.project().join(".codex").exists());
}

#[test]
fn copilot_projects_need_trust_and_users_do_not() {
    let machine = project();
    let said = machine.run("install copilot --scope project");
    assert!(
        said.err.contains("Copilot ignores the hooks of a project until you trust its folder"),
        "{}",
        said.err
    );
    assert!(!machine.run("install copilot").err.contains("trust"));
}

#[test]
fn unreadable_settings_are_left_alone_with_a_hint() {
    let machine = project();
    let settings = machine.write(".gemini/settings.json", "{ \"a\": 1,, }\n");
    let err = machine.run("install gemini-cli").failed(3);
    assert!(
        err.contains("settings.json was left unchanged: 1:10: ") && err.contains("\"AfterTool\""),
        "{err}"
    );
    assert_eq!(std::fs::read_to_string(settings).unwrap(), "{ \"a\": 1,, }\n");
    let err = machine.run("install cluade").failed(2);
    assert!(
        err.contains("there is no agent `cluade`") && err.contains("did you mean `claude-code`?"),
        "{err}"
    );
}

#[test]
fn a_tree_is_synced_checked_and_put_back() {
    let machine = project();
    assert_eq!(machine.run("sync --check").code, Some(1));
    assert_eq!(machine.run("sync --dry-run").code, Some(0));
    // Neither `--check` nor `--dry-run` may write. CI runs the former on clean checkouts.
    assert!(!machine.project().join("CLAUDE.md").exists());
    let shown = machine.run("sync").done();
    assert!(shown.starts_with("link CLAUDE.md -> AGENTS.md\nlink sub/CLAUDE.md -> AGENTS.md\n"), "{shown}");
    assert_eq!(machine.run("sync --check").done(), "");
    // A path below the root refers to the whole project.
    assert_eq!(machine.run("sync sub --check").code, Some(0));
    let text = machine.run("show sub --profile claude-code").done();
    assert!(text.contains("ROOT RULES") && text.contains("SUB RULES"), "{text}");
    machine.run("sync --undo").done();
    assert_eq!(machine.run("sync --check").code, Some(1));
    assert!(!machine.project().join(".gemini").exists());
    assert_eq!(machine.run("sync nowhere").code, Some(2));
}

/// Returns the answers of an MCP server to these messages.
fn talk(machine: &Machine, words: &str, messages: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let out = machine.run_with(words, input).done();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(name: &str, arguments: serde_json::Value) -> serde_json::Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[test]
fn instructions_are_served_over_mcp() {
    let machine = project();
    machine.write("project/sub/AGENTS.local.md", "---\napplies_to: [\"**/*.ts\"]\n---\nTYPESCRIPT RULES\n");
    let directory = machine.project().join("sub").to_str().unwrap().replace('/', "%2F");
    let read = json!({ "uri": format!("foreword://effective/{directory}") });
    let answers = talk(
        &machine,
        "mcp",
        &[
            json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list" }),
            call("effective_instructions", json!({ "path": "sub/x.rs" })),
            call("effective_instructions", json!({ "path": "sub", "agent": "gemini-cli" })),
            call("explain", json!({ "path": "sub" })),
            call("compare", json!({ "agents": ["codex", "gemini-cli"] })),
            call("effective_instructions", json!({ "agent": "nobody" })),
            call("document_get", json!({})),
            json!({ "jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": read }),
            call("effective_instructions", json!({ "path": "sub/new/not-there-yet.rs" })),
            call("effective_instructions", json!({ "path": "sub/new.ts" })),
            call("effective_instructions", json!({ "directory": "sub" })),
            call("effective_instructions", json!([])),
        ],
    );
    let names: Vec<&str> = answers[0]["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["effective_instructions", "explain", "compare", "document_get", "why"]);
    let text = |index: usize| answers[index]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text(1).contains("ROOT RULES") && text(1).contains("SUB RULES"), "{}", text(1));
    assert_eq!(text(2), "No instructions apply here.");
    assert_eq!(answers[3]["result"]["structuredContent"]["profile"], "foreword");
    assert_eq!(answers[4]["result"]["structuredContent"]["agents"].as_array().unwrap().len(), 2);
    assert!(
        answers[5]["result"]["isError"] == true && text(5).contains("there is no agent `nobody`"),
        "{}",
        text(5)
    );
    assert!(answers[6]["result"]["isError"] == true && text(6).contains("hint: "), "{}", text(6));
    assert!(answers[7]["result"]["contents"][0]["text"].as_str().unwrap().contains("SUB RULES"));
    // A file that is about to be made, and rules for files of its kind.
    assert!(text(8).contains("SUB RULES") && !text(8).contains("TYPESCRIPT"), "{}", text(8));
    assert!(text(9).contains("SUB RULES") && text(9).contains("TYPESCRIPT"), "{}", text(9));
    // An unknown argument is an error and not ignored: a model that misspells `path` would otherwise
    // receive the instructions of the wrong directory and trust them.
    assert!(text(10).contains("has no argument `directory`"), "{}", text(10));
    // A request that violates the protocol is an error of the protocol, not a result of the tool.
    assert_eq!(answers[11]["error"]["code"], -32602, "{}", answers[11]);
    assert!(answers[11]["error"]["message"].as_str().unwrap().contains("do not fit `tools/call`"));
}

#[test]
fn documents_are_read_and_saved_over_mcp() {
    let (machine, _server) = Machine::with_workspace();
    let save = |version: u64, content: &str| {
        call("document_save", json!({ "workspace": "demo", "content": content, "expected_version": version }))
    };
    let denied = talk(&machine, "mcp", &[save(0, "x")]);
    assert_eq!(denied[0]["error"]["code"], -32602, "without --allow-save there is no such tool");
    let read = json!({ "uri": "foreword://document/demo" });
    let answers = talk(
        &machine,
        "mcp --allow-save",
        &[
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "clientInfo": { "name": "ada" } } }),
            save(0, "Be brief.\n"),
            save(0, "Be long.\n"),
            call("document_save", json!({ "workspace": "demo", "content": "x" })),
            call("document_get", json!({ "workspace": "demo" })),
            json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": read }),
        ],
    );
    assert_eq!(answers[1]["result"]["isError"], false, "{}", answers[1]);
    assert_eq!(answers[1]["result"]["structuredContent"]["doc"]["updated_by"], "owner");
    assert_eq!(answers[2]["result"]["isError"], true, "another version is there: {}", answers[2]);
    // The reader of this text is a model that can call tools but cannot pass flags, so the hint must name a
    // tool and no `--flag`.
    let refused = answers[2].to_string();
    assert!(refused.contains("call `document_get`") && !refused.contains("--"), "{refused}");
    assert_eq!(answers[3]["result"]["isError"], true, "{}", answers[3]);
    assert_eq!(answers[4]["result"]["structuredContent"]["explicit"]["content"], "Be brief.\n");
    assert_eq!(answers[5]["result"]["contents"][0]["text"], "Be brief.\n");
    assert!(machine.run("doc history -w demo").done().contains("mcp:ada"));
}
