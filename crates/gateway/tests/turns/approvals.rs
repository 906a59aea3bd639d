//! Calls that wait for a decision.

use std::time::Duration;

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Setting, Socket, Stage, texts};

async fn asking() -> Stage {
    Stage::set(Setting { mode: "agent", files: &[("a.txt", "old")], ..Setting::default() }).await
}

fn write(text: &str) -> Answer {
    let arguments = json!({ "path": "a.txt", "content": text }).to_string();
    Answer::empty().tool_call("call_1", "write_file", &arguments)
}

async fn waiting(stage: &mut Stage, turn: &str) -> Value {
    let answer = stage.until(turn, |answer| answer["approvals"] != json!([])).await;
    answer["approvals"][0].clone()
}

/// Returns the parameters of the next notification of a kind.
async fn told(stage: &mut Stage, method: &str) -> Value {
    loop {
        let notification = stage.socket.notification().await;
        if notification["method"] == method {
            return notification["params"].clone();
        }
    }
}

#[tokio::test]
async fn a_write_waits_for_approval() {
    let mut stage = asking().await;
    let mut other = Socket::owner(&stage.gateway).await;
    other.ok("events/subscribe", stage.with(json!({}))).await;
    stage.model.answer(write("new"));
    stage.model.answer(Answer::text("Written."));
    let turn = stage.start("write it").await;
    let approval = waiting(&mut stage, &turn).await;
    assert_eq!((&approval["tool"], &approval["call_id"]), (&json!("write_file"), &json!("call_1")));
    assert_eq!(approval["arguments"]["content"], "new");
    assert_eq!(approval["paths"], json!([stage.path("a.txt")]));
    assert_eq!(approval["rule"], "permissions.write = ask");
    assert_eq!(stage.read("a.txt"), "old");
    // Another client may decide; it learns about the question from the notifications.
    let asked = loop {
        let notification = other.notification().await;
        if notification["method"] == "turn/approval_requested" {
            break notification["params"].clone();
        }
    };
    let answer =
        stage.with(json!({ "turn_id": asked["turn_id"], "call_id": asked["call_id"], "allow": true }));
    assert_eq!(other.ok("turn/approve", &answer).await, json!({ "allowed": true }));
    assert_eq!(stage.ended(&turn).await["turn"]["answer"], "Written.");
    assert_eq!(stage.read("a.txt"), "new");
    let after = stage.get(&turn).await;
    assert_eq!(after["approvals"], json!([]));
    let decided = &after["decided"][0];
    assert_eq!((&decided["call_id"], &decided["decision"]["allowed"]), (&json!("call_1"), &json!(true)));
    assert_eq!(decided["decision"]["decided_by"], "owner");
    let explained = other.ok("turn/explain", stage.with(json!({ "turn_id": turn }))).await;
    assert_eq!(explained["explanation"]["approvals"], json!([decided]));
    // The turn is over: repeating the decision is fine, changing it is not.
    other.ok("turn/approve", &answer).await;
    let no = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": false }));
    other.refused(-32011, "turn/approve", no).await;
}

#[tokio::test]
async fn a_denied_call_reports_the_rule() {
    let mut stage = asking().await;
    stage.model.answer(write("new"));
    stage.model.answer(Answer::text("Then not."));
    let turn = stage.start("write it").await;
    waiting(&mut stage, &turn).await;
    let no = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": false }));
    assert_eq!(stage.socket.ok("turn/approve", no).await, json!({ "allowed": false }));
    assert_eq!(stage.ended(&turn).await["turn"]["answer"], "Then not.");
    assert_eq!(stage.read("a.txt"), "old");
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap());
    assert!(told.last().unwrap().starts_with("<system-reminder type=\"permission.decision\">"), "{told:?}");
    assert!(told[0].contains("somebody was asked, and said no"), "{told:?}");
}

#[tokio::test]
async fn the_model_learns_how_a_decision_was_made() {
    let mut stage = asking().await;
    stage.model.answer(write("new"));
    stage.model.answer(Answer::text("Then not."));
    let turn = stage.start("write it").await;
    waiting(&mut stage, &turn).await;
    let say =
        |allow: bool, how: &str| json!({ "turn_id": turn, "call_id": "call_1", "allow": allow, "how": how });
    // Only the gateway can decide that a question has expired, and an unattended client cannot have allowed a call.
    for (allow, how) in [(false, "expired"), (true, "unattended")] {
        let params = stage.with(say(allow, how));
        stage.socket.refused(-32602, "turn/approve", params).await;
    }
    let params = stage.with(say(false, "unattended"));
    stage.socket.ok("turn/approve", params).await;
    let ended = stage.ended(&turn).await;
    let decision = &ended["decided"][0]["decision"];
    assert_eq!((&decision["how"], &decision["decided_by"]), (&json!("unattended"), &json!("owner")));
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap());
    assert!(told[0].contains("nobody was there to be asked"), "{told:?}");
}

#[tokio::test]
async fn an_unanswered_request_is_denied() {
    let turns = agent::TurnSettings { approval_time: Duration::from_millis(200), ..Default::default() };
    let files = &[("a.txt", "old")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    stage.model.answer(write("new"));
    stage.model.answer(Answer::text("Nobody there."));
    let turn = stage.ask("write it").await["turn"]["id"].clone();
    assert_eq!(stage.read("a.txt"), "old");
    let late = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": true }));
    stage.socket.refused(-32011, "turn/approve", late).await;
    let decision = stage.get(turn.as_str().unwrap()).await["decided"][0]["decision"].clone();
    assert_eq!((&decision["allowed"], &decision["how"]), (&json!(false), &json!("expired")));
    assert_eq!(decision["decided_by"], Value::Null);
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap());
    assert!(told[0].contains("did not answer in time"), "{told:?}");
}

#[tokio::test]
async fn only_pending_calls_can_be_decided() {
    let mut stage = asking().await;
    stage.model.answer(Answer::text("Hello."));
    let turn = stage.ask("hello").await["turn"]["id"].clone();
    let answer = stage.with(json!({ "turn_id": turn, "call_id": "call_9", "allow": true }));
    assert_eq!(stage.socket.refused(-32004, "turn/approve", answer).await["what"], "approval");
}

#[tokio::test]
async fn a_turn_waiting_for_approval_can_be_cancelled() {
    let mut stage = asking().await;
    stage.model.answer(write("new"));
    let turn = stage.start("write it").await;
    waiting(&mut stage, &turn).await;
    let params = stage.with(json!({ "turn_id": turn }));
    assert_eq!(stage.socket.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    let yes = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": true }));
    stage.socket.refused(-32011, "turn/approve", yes).await;
    assert_eq!(stage.read("a.txt"), "old");
}

#[tokio::test]
async fn approval_of_one_call_covers_no_other() {
    let mut stage = asking().await;
    let write = |path: &str| json!({ "path": path, "content": "new" }).to_string();
    // Models choose ids freely and some repeat them, so an approval must not depend on the id alone.
    let answer = Answer::empty().tool_call("same", "write_file", &write("one.txt"));
    stage.model.answer(answer.tool_call("same", "write_file", &write("two.txt")));
    stage.model.answer(Answer::empty().tool_call("same", "write_file", &write("three.txt")));
    stage.model.answer(Answer::text("Done."));
    let turn = stage.start("write").await;
    let waiting = stage.until(&turn, |got| got["approvals"].as_array().unwrap().len() == 2).await;
    for approval in waiting["approvals"].as_array().unwrap() {
        let allow = approval["arguments"]["path"] == "one.txt";
        let params = json!({ "turn_id": turn, "call_id": approval["call_id"], "allow": allow });
        let params = stage.with(params);
        stage.socket.ok("turn/approve", params).await;
    }
    // A later call with the same id is another call and needs its own decision.
    let later = stage.until(&turn, |got| got["approvals"].as_array().unwrap().len() == 1).await;
    assert_eq!(later["approvals"][0]["arguments"]["path"], "three.txt");
    let params =
        stage.with(json!({ "turn_id": turn, "call_id": later["approvals"][0]["call_id"], "allow": false }));
    stage.socket.ok("turn/approve", params).await;
    stage.ended(&turn).await;
    let written = ["one.txt", "two.txt", "three.txt"].map(|name| stage.path(name).exists());
    assert_eq!(written, [true, false, false]);
}

#[tokio::test]
async fn an_approval_request_is_complete_and_has_a_digest() {
    let mut stage = asking().await;
    stage.socket.ok("events/subscribe", stage.with(json!({}))).await;
    stage.model.answer(write("new\n"));
    stage.model.answer(Answer::text("Written."));
    let turn = stage.start("write it").await;
    let asked = told(&mut stage, "turn/approval_requested").await;
    let approval = waiting(&mut stage, &turn).await;
    let path = stage.path("a.txt").display().to_string();
    assert_eq!(
        approval["diff"],
        format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n")
    );
    assert_eq!((&approval["replaces_lines"], &approval["new_file"]), (&json!(1), &Value::Null));
    assert_eq!(approval["cwd"], json!(stage.path("a.txt").parent()));
    assert_eq!((&asked["digest"], &asked["replaces_lines"]), (&approval["digest"], &json!(1)));
    let decide =
        |digest: Value| json!({ "turn_id": turn, "call_id": "call_1", "allow": true, "digest": digest });
    // The digest binds a decision to what the user has seen. A decision about anything else must not run the call.
    let another = stage.with(decide(json!("0".repeat(64))));
    stage.socket.refused(-32011, "turn/approve", another).await;
    assert_eq!(stage.read("a.txt"), "old");
    let same = stage.with(decide(approval["digest"].clone()));
    stage.socket.ok("turn/approve", same).await;
    let decided = told(&mut stage, "turn/approval_decided").await;
    assert_eq!((&decided["allowed"], &decided["decided_by"]), (&json!(true), &json!("owner")));
    stage.ended(&turn).await;
    assert_eq!(stage.read("a.txt"), "new\n");
}

#[tokio::test]
async fn a_file_changed_during_approval_needs_another_one() {
    let mut stage = asking().await;
    stage.model.answer(write("new"));
    stage.model.answer(Answer::text("Written."));
    let turn = stage.start("write it").await;
    let first = waiting(&mut stage, &turn).await;
    // The user has approved a diff against the old file. Running the call now would overwrite a change they never saw.
    std::fs::write(stage.path("a.txt"), "by somebody else").unwrap();
    let decide = |approval: &Value| json!({ "turn_id": turn, "call_id": "call_1", "allow": true, "digest": approval["digest"], "how": "standing" });
    let params = stage.with(decide(&first));
    stage.socket.ok("turn/approve", params).await;
    let is_new = |answer: &Value| {
        answer["approvals"].get(0).is_some_and(|approval| approval["digest"] != first["digest"])
    };
    let second = stage.until(&turn, is_new).await["approvals"][0].clone();
    assert!(second["diff"].as_str().unwrap().contains("-by somebody else\n"), "{second}");
    assert_eq!(stage.read("a.txt"), "by somebody else");
    let params = stage.with(decide(&first));
    stage.socket.refused(-32011, "turn/approve", params).await;
    let params = stage.with(decide(&second));
    stage.socket.ok("turn/approve", params).await;
    let ended = stage.ended(&turn).await;
    assert_eq!(stage.read("a.txt"), "new");
    assert_eq!(ended["decided"][0]["decision"]["how"], "standing");
}

/// A decision may take hours: instructions that apply by then are delivered before anything is written.
#[tokio::test]
async fn instructions_changed_during_approval_hold_a_call_back() {
    for (before, now) in [(None, "RULE-NEW"), (Some("RULE-OLD"), "RULE-NEW")] {
        let mut stage = asking().await;
        stage.write("sub/n.txt", "old");
        if let Some(text) = before {
            stage.write("sub/AGENTS.md", text);
        }
        let write = |id: &str| {
            let arguments = json!({ "path": "sub/n.txt", "content": "new" }).to_string();
            Answer::empty().tool_call(id, "write_file", &arguments)
        };
        if before.is_some() {
            stage.model.answer(Answer::empty().tool_call("r", "read_file", r#"{"path":"sub/n.txt"}"#));
        }
        stage.model.answer(write("call_1"));
        stage.model.answer(write("call_2"));
        stage.model.answer(Answer::text("Written."));
        let turn = stage.start("write it").await;
        assert_eq!(waiting(&mut stage, &turn).await["call_id"], "call_1");
        stage.write("sub/AGENTS.md", now);
        let yes = |call: &str| json!({ "turn_id": turn, "call_id": call, "allow": true });
        let params = stage.with(yes("call_1"));
        stage.socket.ok("turn/approve", params).await;
        stage.until(&turn, |answer| answer["approvals"][0]["call_id"] == "call_2").await;
        // The approved call is held back once more, and the repeated one asks again, because the user may decide
        // differently under the new rules.
        assert_eq!(stage.read("sub/n.txt"), "old", "{before:?}");
        let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).join("\n");
        assert!(told.contains("did not run: instruction files apply") && told.contains("RULE-NEW"), "{told}");
        let params = stage.with(yes("call_2"));
        stage.socket.ok("turn/approve", params).await;
        assert_eq!(stage.ended(&turn).await["turn"]["answer"], "Written.");
        assert_eq!(stage.read("sub/n.txt"), "new");
    }
}
