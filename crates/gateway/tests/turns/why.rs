//! `transcript/why`: a rule and what the model of a thread received.

use protocol::Role;
use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Socket, Stage};

const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "# Root\n\n- At the root.\n"),
    ("a/AGENTS.md", "- Mind the tests.\n"),
    ("a/x.txt", "x\n"),
];

async fn why(stage: &mut Stage, rule: &str, when: Option<&str>) -> Value {
    let mut params = stage.with(json!({ "thread_id": stage.thread, "rule": rule }));
    if let Some(when) = when {
        params["when"] = json!(when);
    }
    let report = stage.socket.ok("transcript/why", params).await;
    report["sessions"][0].clone()
}

#[tokio::test]
async fn a_thread_is_judged_by_what_it_recorded() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(Answer::text("First words."));
    let turn = stage.start("Begin.").await;
    stage.ended(&turn).await;
    let never = why(&mut stage, "Mind the tests.", None).await;
    assert_eq!(
        (&never["verdict"], &never["reason"]),
        (&json!("never_loaded"), &json!("below_cwd")),
        "{never:#}"
    );

    let call = json!({ "path": "a/x.txt" }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "read_file", &call));
    stage.model.answer(Answer::text("Read."));
    let turn = stage.start("Read it.").await;
    stage.ended(&turn).await;
    let start = why(&mut stage, "At the root.", Some("First words")).await;
    assert_eq!(
        (&start["verdict"], &start["evidence"]),
        (&json!("delivered"), &json!("recorded")),
        "{start:#}"
    );
    assert_eq!((&start["agent"], &start["deliveries"][0]["when"]), (&json!("foreword"), &json!("start")));
    let late = why(&mut stage, "Mind the tests.", Some("First words")).await;
    assert_eq!(
        (&late["verdict"], &late["deliveries"][0]["when"]),
        (&json!("too_late"), &json!("reminder")),
        "{late:#}"
    );
    let there = why(&mut stage, "a/AGENTS.md:1", None).await;
    assert_eq!(there["verdict"], "delivered", "{there:#}");
}

#[tokio::test]
async fn rules_of_documents_are_judged_too() {
    let mut stage = Stage::chat().await;
    let save = stage.with(json!({ "content": "- Use British spelling.\n" }));
    stage.socket.ok("thread/agents_doc/save", save).await;
    stage.model.answer(Answer::text("Colour."));
    let turn = stage.start("Begin.").await;
    stage.ended(&turn).await;
    let session = why(&mut stage, "Use British spelling.", Some("Colour")).await;
    assert_eq!(
        (&session["verdict"], &session["evidence"]),
        (&json!("delivered"), &json!("recorded")),
        "{session:#}"
    );
}

#[tokio::test]
async fn only_instruction_files_can_be_named() {
    let stage = Stage::agent(FILES).await;
    let secret = stage.gateway.token("r", Role::Reader, None).await.unwrap();
    let mut reader = Socket::connect(&stage.gateway, &secret).await;
    for rule in ["a/x.txt:1", "/etc/passwd:1", "../secret:1"] {
        let params = stage.with(json!({ "thread_id": stage.thread, "rule": rule }));
        let error = reader.call("transcript/why", params).await.unwrap_err();
        assert!(!error.to_string().contains("root:"), "{error:#}");
    }
    let params = stage.with(json!({ "thread_id": stage.thread, "rule": "Root", "when": "/(/" }));
    assert!(reader.call("transcript/why", params).await.unwrap_err().to_string().contains("`when`"));
}
