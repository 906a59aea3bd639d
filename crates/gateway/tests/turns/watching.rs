//! Turns followed by other clients than the one that started them.

use std::time::Duration;

use scripted_model::{Answer, Release};
use serde_json::{Value, json};

use crate::support::{Setting, Socket, Stage, post};

/// Returns an answer that stops halfway until the test releases it.
fn halved(words: usize) -> (String, Answer, Release) {
    let text: String = (0..words).map(|word| format!("word {word} ")).collect();
    let answer = Answer::text(&text).in_deltas(words).drip(Duration::from_millis(1));
    let (answer, release) = answer.held_after_events(words / 2);
    (text, answer, release)
}

/// Puts the text so far and all later deltas together, checking that none is missing.
async fn follow(socket: &mut Socket, watched: &Value) -> String {
    let mut text = watched["text"].as_str().unwrap().to_owned();
    let mut next = watched["next_index"].as_u64().unwrap();
    loop {
        let notification = socket.notification().await;
        match notification["method"].as_str().unwrap() {
            "turn/delta" => {
                // The snapshot and the deltas after it must fit together: a gap or a repetition would show a wrong
                // answer.
                assert_eq!(notification["params"]["index"], next, "{notification}");
                next += 1;
                text.push_str(notification["params"]["text"].as_str().unwrap());
            }
            "turn/completed" => return text,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_watcher_gets_the_text_so_far_and_the_rest() {
    let mut stage = Stage::chat().await;
    let (text, answer, release) = halved(60);
    stage.model.answer(answer);
    let turn = stage.start("Tell me.").await;
    stage.until(&turn, |answer| answer["turn"]["answer"].is_string()).await;
    let mut other = Socket::owner(&stage.gateway).await;
    other.ok("events/subscribe", stage.with(json!({}))).await;
    let params = stage.with(json!({ "turn_id": turn }));
    let watched = other.ok("turn/watch", &params).await;
    assert_eq!(watched["turn"]["status"], "running");
    assert!(text.starts_with(watched["text"].as_str().unwrap()) && watched["text"] != "", "{watched}");
    release.now();
    assert_eq!(follow(&mut other, &watched).await, text);

    // Watching an ended turn returns the whole text, and nothing follows.
    let watched = other.ok("turn/watch", &params).await;
    assert_eq!((&watched["turn"]["status"], &watched["text"]), (&json!("completed"), &json!(text)));
    assert!(watched.get("next_index").is_none(), "{watched}");
}

#[tokio::test]
async fn every_watcher_gets_every_piece() {
    let mut stage = Stage::chat().await;
    let text: String = (0..60).map(|word| format!("word {word} ")).collect();
    let answer = Answer::text(&text).in_deltas(60).drip(Duration::from_millis(1));
    let (answer, release) = answer.held_after_events(30);
    stage.model.answer(answer);
    let turn = stage.start("Tell me.").await;
    let params = stage.with(json!({ "turn_id": turn }));
    let reader = json!({ "name": "reader", "role": "reader", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", reader).await["secret"].as_str().unwrap().to_owned();
    let mut watchers = Vec::new();
    for secret in [None, Some(&secret), None] {
        let mut socket = match secret {
            Some(secret) => Socket::connect(&stage.gateway, secret).await,
            None => Socket::owner(&stage.gateway).await,
        };
        socket.ok("events/subscribe", stage.with(json!({}))).await;
        let watched = socket.ok("turn/watch", &params).await;
        watchers.push((socket, watched));
    }
    // One watcher leaves, which must not affect the others.
    drop(watchers.remove(0));
    release.now();
    for (socket, watched) in &mut watchers {
        assert_eq!(follow(socket, watched).await, text);
    }
}

#[tokio::test]
async fn duplicate_watchers_get_each_piece_once() {
    let mut stage = Stage::chat().await;
    let (text, answer, release) = halved(40);
    stage.model.answer(answer);
    stage.socket.ok("events/subscribe", stage.with(json!({}))).await;
    let turn = stage.start("Tell me.").await;
    let params = stage.with(json!({ "turn_id": turn }));
    let mut other = Socket::owner(&stage.gateway).await;
    other.ok("events/subscribe", stage.with(json!({}))).await;
    other.ok("turn/watch", &params).await;
    let again = other.ok("turn/watch", &params).await;
    assert!(again["next_index"].is_u64());
    stage.socket.ok("turn/watch", &params).await;
    release.now();
    let mut pieces = Vec::new();
    loop {
        let notification = stage.socket.notification().await;
        match notification["method"].as_str().unwrap() {
            "turn/delta" => pieces.push(notification["params"]["index"].as_u64().unwrap()),
            "turn/completed" => break,
            _ => {}
        }
    }
    assert!(pieces.windows(2).all(|pair| pair[0] < pair[1]), "{pieces:?}");
    let mut last = None;
    loop {
        let notification = other.notification().await;
        match notification["method"].as_str().unwrap() {
            "turn/delta" => {
                let index = notification["params"]["index"].as_u64();
                assert!(last < index, "{last:?} {index:?}");
                last = index;
            }
            "turn/completed" => break,
            _ => {}
        }
    }
    assert_eq!(stage.get(&turn).await["turn"]["answer"], text);
}

#[tokio::test]
async fn turns_of_other_workspaces_cannot_be_watched() {
    let mut stage = Stage::chat().await;
    let (_, answer, release) = halved(40);
    stage.model.answer(answer);
    let made = json!({ "name": "other" });
    let other = stage.socket.ok("workspace/create", made).await["workspace"]["id"].clone();
    let token = json!({ "name": "spy", "role": "reader", "workspace_id": other });
    let secret = stage.socket.ok("token/create", token).await["secret"].as_str().unwrap().to_owned();
    let turn = stage.start("Tell me.").await;
    let mut spy = Socket::connect(&stage.gateway, &secret).await;
    spy.refused(-32003, "turn/watch", stage.with(json!({ "turn_id": turn }))).await;
    spy.refused(-32004, "turn/watch", json!({ "workspace_id": other, "turn_id": turn })).await;
    release.now();
    stage.ended(&turn).await;
    assert!(spy.is_quiet().await);
}

#[tokio::test]
async fn a_reader_may_watch_but_not_without_a_connection() {
    let mut stage = Stage::chat().await;
    let (_, answer, release) = halved(20);
    stage.model.answer(answer);
    let token = json!({ "name": "reader", "role": "reader", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", token).await["secret"].as_str().unwrap().to_owned();
    let turn = stage.start("Tell me.").await;
    let params = stage.with(json!({ "turn_id": turn }));
    let mut reader = Socket::connect(&stage.gateway, &secret).await;
    reader.ok("turn/watch", &params).await;
    // A watcher that leaves does not affect the turn.
    drop(reader);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "turn/watch", "params": params }).to_string();
    let answer = post(&stage.gateway, &secret, call).await;
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["error"]["code"], -32011, "{answer}");
    release.now();
    assert_eq!(stage.ended(&turn).await["turn"]["status"], "completed");
}

#[tokio::test]
async fn a_late_watcher_sees_pending_approvals() {
    let mut stage = Stage::set(Setting { mode: "agent", ..Setting::default() }).await;
    let arguments = json!({ "path": "a.txt", "content": "new" }).to_string();
    stage.model.answer(Answer::text("I write.").tool_call("call_1", "write_file", &arguments));
    let turn = stage.start("Write.").await;
    let waiting = stage.until(&turn, |answer| answer["approvals"] != json!([])).await;
    let params = stage.with(json!({ "turn_id": turn }));
    let watched = Socket::owner(&stage.gateway).await.ok("turn/watch", params).await;
    assert_eq!(watched["approvals"], waiting["approvals"]);
}
