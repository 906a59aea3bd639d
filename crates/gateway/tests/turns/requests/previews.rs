//! `prompt/preview` predicts what the next turn sends.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Stage, texts};

async fn preview(stage: &mut Stage, others: Value) -> Value {
    let mut params = stage.with(json!({ "thread_id": stage.thread }));
    params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    stage.socket.ok("prompt/preview", params).await
}

#[tokio::test]
async fn the_preview_predicts_announcements() {
    let mut stage = Stage::agent(&[("AGENTS.md", "One.\nTwo.\n")]).await;
    let before = preview(&mut stage, json!({})).await;
    assert!(before.get("frozen").is_none(), "{before:#}");
    stage.model.answer(Answer::text("first"));
    stage.ask("Begin.").await;
    assert!(preview(&mut stage, json!({})).await.get("frozen").is_none());
    stage.write("AGENTS.md", "One.\nTwo!\n");
    let said = preview(&mut stage, json!({})).await;
    assert_eq!(said["session_text"], before["session_text"], "frozen");
    let frozen = &said["frozen"];
    let edited = json!([{ "path": stage.path("AGENTS.md"), "change": "edited", "line": 2 }]);
    assert_eq!(frozen["files"], edited);
    let reminder = frozen["reminder"]["text"].as_str().unwrap();
    let fresh = preview(&mut stage, json!({ "fresh": true })).await;
    assert!(fresh["session_text"].as_str().unwrap().contains("Two!") && fresh.get("frozen").is_none());
    assert!(fresh["sizes"].get("history").is_none(), "{fresh:#}");

    stage.model.answer(Answer::text("second"));
    stage.ask("Go on.").await;
    let body = stage.last_body();
    let opening = texts(body["messages"].as_array().unwrap().last().unwrap());
    // Compared as a whole text: the preview is useful only if it shows exactly what will be sent.
    assert!(opening.iter().any(|text| text == reminder), "{reminder}\n{opening:#?}");
    let after = preview(&mut stage, json!({})).await;
    assert_eq!(after["frozen"]["files"], edited);
    assert!(after["frozen"].get("reminder").is_none(), "told once: {after:#}");
}

#[tokio::test]
async fn preview_sizes_match_the_request() {
    let mut stage = Stage::agent(&[]).await;
    stage.model.answer(Answer::text("first"));
    stage.ask("Begin.").await;
    let said = preview(&mut stage, json!({ "input": "Go on." })).await;
    let sizes = &said["sizes"];
    assert_eq!((&sizes["window_tokens"], &sizes["reserve_tokens"]), (&json!(128_000), &json!(16_000)));
    stage.model.answer(Answer::text("second"));
    let turn = stage.ask("Go on.").await["turn"]["id"].as_str().unwrap().to_owned();
    let params = stage.with(json!({ "turn_id": turn }));
    let explained = stage.socket.ok("turn/explain", params).await["explanation"].clone();
    assert_eq!(sizes["history"], explained["history"], "the same budget, the same earlier turns");
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&sizes["tools"]), names(&stage.last_body()["tools"]));
    let sum = |list: &Value| -> u64 {
        // Text of earlier turns is counted as history.
        let sent = list.as_array().unwrap().iter().filter(|it| it["said_earlier"] != true);
        sent.map(|it| it["tokens"].as_u64().unwrap()).sum()
    };
    let whole = sum(&sizes["tools"])
        + sum(&said["manifest"]["sections"])
        + sizes["history"]["tokens"].as_u64().unwrap();
    assert_eq!(sizes["request_tokens"], whole);
}
