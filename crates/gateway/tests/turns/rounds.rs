//! The steps of a turn as its clients see them.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Stage, texts};

fn call(name: &str, arguments: Value) -> Answer {
    Answer::empty().tool_call("call_1", name, &arguments.to_string())
}

#[tokio::test]
async fn a_model_reads_writes_and_answers() {
    let mut stage = Stage::agent(&[("src/main.rs", "fn main() {}\n")]).await;
    stage.model.answer(Answer::text("Let me look.").tool_call("1", "read_file", r#"{"path":"src/main.rs"}"#));
    let edit =
        json!({ "path": "src/main.rs", "old_text": "fn main() {}", "new_text": "fn main() { run() }" });
    stage.model.answer(Answer::empty().tool_call("2", "edit_file", &edit.to_string()).tool_call(
        "3",
        "write_file",
        r#"{"path":"src/run.rs","content":"pub fn run() {}\n"}"#,
    ));
    stage.model.answer(Answer::text("Done."));
    let subscribe = stage.with(json!({}));
    stage.socket.ok("events/subscribe", subscribe).await;
    let answer = stage.ask("call run from main").await;
    assert_eq!(answer["turn"]["answer"], "Let me look.\n\nDone.");
    assert_eq!(stage.read("src/main.rs"), "fn main() { run() }\n");
    assert_eq!(stage.read("src/run.rs"), "pub fn run() {}\n");
    let mut told = Vec::new();
    while told.last().map(String::as_str) != Some("turn/completed") {
        let notification = stage.socket.notification().await;
        let call = notification["params"]["call_id"].as_str().unwrap_or_default();
        if notification["method"] != "turn/delta" {
            told.push(format!("{} {call}", notification["method"].as_str().unwrap()).trim().to_owned());
        }
    }
    assert_eq!(
        told,
        [
            "turn/started",
            "turn/manifest",
            "turn/tool_started 1",
            "turn/tool_finished 1",
            "turn/manifest",
            "turn/tool_started 2",
            "turn/tool_started 3",
            "turn/tool_finished 2",
            "turn/tool_finished 3",
            "turn/manifest",
            "turn/completed",
        ]
    );
    // Each request begins with the previous one.
    let bodies = stage.bodies();
    for pair in bodies.windows(2) {
        assert_eq!((&pair[0]["system"], &pair[0]["tools"]), (&pair[1]["system"], &pair[1]["tools"]));
        let (before, after) = (&pair[0]["messages"], &pair[1]["messages"]);
        for (earlier, later) in before.as_array().unwrap().iter().zip(after.as_array().unwrap()) {
            assert_eq!(texts(earlier), texts(later));
        }
    }
}

#[tokio::test]
async fn the_steps_of_a_turn_can_be_paged() {
    let mut stage = Stage::agent(&[("notes.txt", "short")]).await;
    stage.model.answer(call("read_file", json!({ "path": "notes.txt" })));
    stage.model.answer(Answer::text("Read."));
    let whole = stage.ask("read").await;
    let steps = whole["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &whole["next"]), (4, &Value::Null), "{whole:#}");
    for after in [0, 1, 3, 4, 9] {
        let params = stage.with(json!({ "turn_id": whole["turn"]["id"], "after": after }));
        let page = stage.socket.ok("turn/get", params).await;
        assert_eq!(page["steps"].as_array().unwrap()[..], steps[after.min(4)..], "{after}");
        assert_eq!((&page["turn"], &page["next"]), (&whole["turn"], &Value::Null));
    }
}
