//! `foreword why` and `foreword transcript`.

use serde_json::{Value, json};

use crate::support::Machine;

/// A project with a rule below the directory in which Codex was started.
fn project() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "# Shop\n\n- Money is integer cents.\n");
    machine.write("project/services/billing/AGENTS.md", "- Use pnpm, never npm.\n");
    let cwd = machine.project();
    let block = "# AGENTS.md instructions for x\n\n<INSTRUCTIONS>\n# Shop\n\n- Money is integer cents.\n\n</INSTRUCTIONS>";
    let records = [
        record("session_meta", json!({ "id": "abc-1", "cwd": cwd, "cli_version": "0.169.0" })),
        record("response_item", message(block)),
        record("response_item", message("Add refunds\u{1b}[2J")),
        record(
            "response_item",
            json!({ "type": "function_call", "name": "exec_command", "call_id": "1",
                "arguments": "{\"cmd\":\"TOKEN=sk-hidden npm install refunds\"}" }),
        ),
    ];
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    machine
        .write(".codex/sessions/2026/11/16/rollout-2026-11-16T14-02-11-abc-1.jsonl", lines.join("\n") + "\n");
    machine
}

fn record(kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2026-11-16T14:02:11.000Z", "type": kind, "payload": payload })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
}

#[test]
fn three_lines_explain_an_ignored_rule() {
    let machine = project();
    let said = machine.run("why 'Use pnpm, never npm.' --when 'npm install'");
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", said.out);
    assert!(lines[0].starts_with("codex 0.169.0  2026-11-16 "), "{}", lines[0]);
    assert!(lines[0].contains("\"Add refunds") && lines[0].ends_with("never loaded"), "{}", lines[0]);
    assert!(!said.out.contains('\u{1b}'), "escape codes are made visible");
    let rule = "  services/billing/AGENTS.md:1 \"Use pnpm, never npm.\" was not in front of the model.";
    assert_eq!(lines[1], rule);
    assert!(
        lines[2].contains("loaded no file below that directory. hint: start Codex in services/billing"),
        "{}",
        lines[2]
    );
    let verbose = machine.run("why 'Use pnpm, never npm.' --when 'npm install' --verbose");
    assert!(
        verbose.out.contains("message 3: exec_command: TOKEN=sk-hidden npm install refunds"),
        "{}",
        verbose.out
    );
}

#[test]
fn the_answer_as_json_has_the_promised_fields() {
    let machine = project();
    let said = machine.run("why 'Money is integer cents.' --when /npm.install/ --format json");
    assert_eq!(said.code, Some(0), "{said:?}");
    let report = said.object();
    assert_eq!(report["rule"]["line"], 3);
    let session = &report["sessions"][0];
    assert_eq!((&session["agent"], &session["verdict"]), (&json!("codex"), &json!("delivered")));
    assert_eq!((&session["evidence"], &session["messages_before"]), (&json!("recorded"), &json!(2)));
    assert_eq!(session["deliveries"][0]["when"], "start");
    assert_eq!(session["violation"]["message"], 3);
    assert_eq!(session["started_at"], "2026-11-16T14:02:11.000Z");
}

#[test]
fn a_redacted_report_has_nothing_of_the_messages() {
    let machine = project();
    let said = machine.run("why 'Use pnpm, never npm.' --when 'npm install' --redact --verbose");
    for hidden in ["sk-hidden", "refunds", &machine.root().display().to_string()] {
        assert!(!said.out.contains(hidden), "{hidden} is in {}", said.out);
    }
    assert!(said.out.contains("never loaded"), "{}", said.out);
}

#[test]
fn wrong_questions_get_clear_errors() {
    let machine = project();
    for (words, expected) in [
        ("why 'Feed the cat twice.'", "contains the rule `Feed the cat twice.`"),
        ("why AGENTS.md:99", "has no rule in line 99"),
        ("why ''", "the rule is empty"),
        ("why cents --agent codx", "did you mean `codex`?"),
        ("why cents --session zzz", "no session has the id `zzz`"),
        ("why cents --when /(/", "is not a regular expression"),
        ("why cents nowhere", "is not a directory"),
        ("transcript show zzz", "no session has the id `zzz`"),
    ] {
        let said = machine.run(words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words}: {said:?}");
        assert!(said.err.contains(expected), "{words}: {}", said.err);
        assert!(said.err.contains("hint: "), "{words}: {}", said.err);
    }
}

#[test]
fn without_sessions_the_list_is_empty() {
    let machine = project();
    let said = machine.run("why cents --agent pi --format json");
    assert_eq!(said.code, Some(1));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["sessions"], json!([]));
    assert!(said.err.contains("no session of an agent was found"), "{}", said.err);
    assert_eq!(machine.run("transcript list --agent pi").code, Some(1));
}

#[test]
fn sessions_are_listed_and_shown() {
    let machine = project();
    let list = machine.run("transcript list --format json").object();
    let session = &list["sessions"][0];
    assert_eq!((&session["id"], &session["messages"]), (&json!("abc-1"), &json!(3)));
    assert_eq!((&session["compactions"], &session["running"]), (&json!(0), &json!(false)));
    assert_eq!(session["files"][0]["message"], 1);
    let shown = machine.run("transcript show abc --format json").object();
    let kinds: Vec<&str> =
        shown["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "user", "instructions", "user", "call"]);
    assert_eq!(shown["events"][4]["tool"], "exec_command");
    let text = machine.run("transcript show abc").done();
    assert!(text.contains("instructions") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn explain_hints_at_a_session_without_a_file() {
    let machine = project();
    machine.write("project/AGENTS.override.md", "- Sign every commit.\n");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let file =
        std::fs::File::options().write(true).open(machine.project().join("AGENTS.override.md")).unwrap();
    file.set_modified(old).unwrap();
    let said = machine.run("explain");
    assert!(
        said.err.contains("did not have AGENTS.override.md: foreword why AGENTS.override.md:1 --agent codex"),
        "{said:?}"
    );
}
