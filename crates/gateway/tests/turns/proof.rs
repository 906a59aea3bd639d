//! Record of every round, read from the store alone: its request, reminders, calls and cost.

use agent::TurnSettings;
use scripted_model::{Answer, Tokens, Wire};
use serde_json::{Value, json};

use crate::support::{Setting, Socket, Stage};

async fn explained(stage: &mut Stage, turn: &str) -> Value {
    let params = stage.with(json!({ "turn_id": turn }));
    let explanation = stage.socket.ok("turn/explain", &params).await["explanation"].clone();
    let rounds = stage.socket.ok("turn/manifest", &params).await["rounds"].clone();
    assert_eq!(rounds, without_texts(&explanation["rounds"]), "both answer alike");
    explanation
}

/// Returns rounds in the form of `turn/manifest`.
fn without_texts(rounds: &Value) -> Value {
    let mut rounds = rounds.clone();
    for round in rounds.as_array_mut().unwrap() {
        round.as_object_mut().unwrap().remove("notes");
        if let Some(history) = round.get_mut("history") {
            history.as_object_mut().unwrap().remove("summary");
        }
        for approval in round.get_mut("approvals").and_then(Value::as_array_mut).into_iter().flatten() {
            approval["arguments"] = json!({});
            approval.as_object_mut().unwrap().remove("diff");
        }
    }
    rounds
}

#[tokio::test]
async fn a_manifest_has_no_content() {
    let files = &[("AGENTS.md", "Never say wombat.\n")];
    let mut stage = Stage::set(Setting { mode: "agent", files, ..Setting::default() }).await;
    let wombat =
        stage.with(json!({ "scope": "workspace", "category": "preference", "text": "Likes wombats" }));
    stage.socket.ok("memory/add", wombat).await;
    let write = json!({ "path": "b.txt", "content": "a wombat\n" });
    stage.model.answer(Answer::empty().tool_call("1", "write_file", &write.to_string()));
    stage.model.answer(Answer::text("There is a wombat in it."));
    let turn = stage.start("Write something about the wombat.").await;
    stage.until(&turn, |answer| answer["approvals"] != json!([])).await;
    let yes = stage.with(json!({ "turn_id": turn, "call_id": "1", "allow": true }));
    stage.socket.ok("turn/approve", yes).await;
    stage.ended(&turn).await;
    let explanation = explained(&mut stage, &turn).await.to_string();
    assert!(explanation.contains("Likes wombats") && explanation.contains("a wombat\\n"), "{explanation}");
    let params = stage.with(json!({ "turn_id": turn }));
    let manifest = stage.socket.ok("turn/manifest", params).await.to_string();
    assert!(manifest.contains("memory_recall") && !manifest.contains("wombat"), "{manifest}");
}

fn names(tools: &Value) -> Vec<String> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn call(id: &str, tool: &str, arguments: Value, tokens: Tokens) -> Answer {
    Answer::empty().tool_call(id, tool, &arguments.to_string()).tokens(tokens)
}

#[tokio::test]
async fn every_round_records_its_inputs_and_cost() {
    let files = &[("AGENTS.md", "At the root.\n"), ("a/AGENTS.md", "In a.\n"), ("a/x.txt", "x\n")];
    let mut stage = Stage::set(Setting { mode: "agent", files, ..Setting::default() }).await;
    // Every round has different figures, so that a sum over the wrong rounds cannot be right by accident.
    let cost = |input, cached_read| Tokens { input, output: 7, cached_read, cached_write: 3, reasoning: 0 };
    stage.model.answer(call("1", "read_file", json!({ "path": "a/x.txt" }), cost(100, 0)));
    let write = json!({ "path": "a/y.txt", "content": "y" });
    stage.model.answer(call("2", "write_file", write, cost(200, 100)));
    stage.model.answer(Answer::text("Written.").tokens(cost(300, 200)));
    let made = json!({ "name": "boss", "role": "operator", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
    let mut boss = Socket::connect(&stage.gateway, &secret).await;
    let turn = stage.start("Write it.").await;
    stage.until(&turn, |answer| answer["approvals"] != json!([])).await;
    let yes = stage.with(json!({ "turn_id": turn, "call_id": "2", "allow": true }));
    boss.ok("turn/approve", yes).await;
    assert_eq!(stage.ended(&turn).await["turn"]["status"], "completed");

    let explanation = explained(&mut stage, &turn).await;
    let rounds = explanation["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3, "{explanation:#}");
    let bodies = stage.bodies();
    for (round, body) in rounds.iter().zip(&bodies) {
        let request = &round["request"];
        assert_eq!((&request["mode"], &request["tool_choice"]), (&json!("agent"), &json!("auto")));
        assert_eq!(names(&request["tools"]), names(&body["tools"]));
        let marks = body.to_string().matches("\"cache_control\"").count();
        let said = round["outcome"]["cache_marks"].as_array().map_or(0, Vec::len);
        assert_eq!(said, marks, "{round:#}");
        let sections: Vec<&Value> =
            round["sections"].as_array().unwrap().iter().map(|section| &section["id"]).collect();
        assert!(sections.contains(&&json!("agents_context")), "{sections:?}");
    }
    assert!(rounds[0].get("same_as").is_none());
    // Later rounds refer to the first manifest instead of repeating it, because a turn may have hundreds of rounds.
    assert_eq!((&rounds[1]["same_as"], &rounds[2]["same_as"]), (&json!(1), &json!(1)));
    assert_eq!(rounds[0]["history"]["turns"], 0);
    assert!(rounds[1].get("history").is_none(), "decided once");
    let usages: Vec<&Value> = rounds.iter().map(|round| &round["outcome"]["usage"]).collect();
    let inputs: Vec<&Value> = usages.iter().map(|usage| &usage["input"]).collect();
    let cached: Vec<&Value> = usages.iter().map(|usage| &usage["cached_read"]).collect();
    assert_eq!(
        (inputs, cached),
        (vec![&json!(100), &json!(200), &json!(300)], vec![&json!(0), &json!(100), &json!(200)])
    );
    assert_eq!(explanation["turn"]["usage"]["input"], 600, "the parts are the whole");

    assert!(rounds[0].get("reminders").is_none());
    let reminder = &rounds[1]["reminders"][0];
    assert_eq!((&reminder["type"], &reminder["call_id"]), (&json!("agents.resolve.paths"), &json!("1")));
    assert_eq!(reminder["files"][0]["path"], json!(stage.path("a/AGENTS.md")));
    assert_eq!(reminder["files"][0]["delivery"], "inline");
    assert_eq!(
        (&rounds[0]["calls"][0]["tool"], &rounds[1]["calls"][0]["tool"]),
        (&json!("read_file"), &json!("write_file"))
    );
    let decided = &rounds[1]["approvals"][0];
    assert_eq!((&decided["call_id"], &decided["decision"]["decided_by"]), (&json!("2"), &json!("boss")));
    assert_eq!(decided["decision"]["allowed"], true);
    assert!(rounds[2].get("calls").is_none() && rounds[2].get("approvals").is_none());
}

#[tokio::test]
async fn the_last_round_records_why_tools_were_off() {
    let turns = TurnSettings { max_rounds: 1, ..crate::support::writing() };
    let files = &[("a.txt", "a\n")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    let read = json!({ "path": "a.txt" }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "read_file", &read));
    stage.model.answer(Answer::text("Enough."));
    let turn = stage.ask("Read.").await["turn"]["id"].as_str().unwrap().to_owned();
    let explanation = explained(&mut stage, &turn).await;
    let last = &explanation["rounds"][1];
    assert_eq!(last["request"]["tool_choice"], "none");
    assert_eq!(last["request"]["notes"], json!(["final_answer"]));
    assert!(!names(&last["request"]["tools"]).is_empty(), "they are listed all the same");
    assert!(last.get("same_as").is_none(), "another manifest");
}

#[tokio::test]
async fn reasoning_and_the_cache_key_are_in_the_record() {
    let mut stage = Stage::set(Setting { wire: Wire::Openai, ..Setting::default() }).await;
    let tokens = Tokens { input: 50, output: 37, cached_read: 20, cached_write: 0, reasoning: 30 };
    stage.model.answer(Answer::text("thought about").tokens(tokens));
    let turn = stage.ask("Think.").await["turn"]["id"].as_str().unwrap().to_owned();
    let outcome = explained(&mut stage, &turn).await["rounds"][0]["outcome"].clone();
    assert_eq!((&outcome["usage"]["reasoning"], &outcome["usage"]["cached_read"]), (&json!(30), &json!(20)));
    assert_eq!(outcome["cache_marks"], json!(["thread_key"]));
}

#[tokio::test]
async fn a_rejected_request_and_its_successor_are_recorded() {
    let mut stage = Stage::chat().await;
    for number in 1..=4 {
        stage.model.answer(Answer::text(&format!("answer {number}")));
        stage.ask(&format!("question {number}")).await;
    }
    stage.model.answer(Answer::context_too_long());
    stage.model.answer(Answer::text("SUMMARY of it all"));
    stage.model.answer(Answer::text("short enough"));
    let turn = stage.ask("one more").await["turn"]["id"].as_str().unwrap().to_owned();
    let rounds = explained(&mut stage, &turn).await["rounds"].as_array().unwrap().clone();
    assert_eq!(rounds.len(), 2, "{rounds:#?}");
    let read = [0, 1].map(|round| rounds[round]["outcome"]["usage"]["input"].as_u64());
    assert_eq!(read, [Some(0), Some(100)], "refused, then answered");
    // The turn that delivered the date has left the request, so the shorter request must contain it again.
    let params = stage.with(json!({ "turn_id": turn }));
    let kept = stage.socket.ok("turn/manifest", params).await;
    let says_the_date = |round: u64| {
        let of_round = |it: &&Value| it["round"] == round;
        let manifest = kept["manifests"].as_array().unwrap().iter().find(of_round).unwrap();
        let sections = manifest["manifest"]["sections"].as_array().unwrap();
        let date = sections.iter().find(|section| section["id"] == "extra_system").unwrap();
        date.get("said_earlier").is_none_or(|said| said == false)
    };
    assert_eq!([says_the_date(1), says_the_date(2)], [false, true], "{kept:#}");
    assert!(stage.last_body().to_string().contains("Date: "));
}

#[tokio::test]
async fn hooks_are_shown_to_those_who_may_see_them() {
    let mut stage = Stage::chat().await;
    let saved = stage.with(json!({ "content": "Be brief." }));
    stage.socket.ok("thread/agents_doc/save", saved).await;
    stage.model.answer(Answer::text("yes"));
    let turn = stage.ask("Really?").await["turn"]["id"].as_str().unwrap().to_owned();
    let owner = explained(&mut stage, &turn).await;
    let internal = |hooks: &Value| {
        hooks.as_array().unwrap().iter().filter(|hook| hook["visibility"] == "internal").count()
    };
    assert!(internal(&owner["hooks"]) > 0, "{owner:#}");
    for role in ["reader", "editor", "operator"] {
        let made = json!({ "name": role, "role": role, "workspace_id": stage.workspace });
        let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
        let mut other = Socket::connect(&stage.gateway, &secret).await;
        let seen = other.ok("turn/explain", stage.with(json!({ "turn_id": turn }))).await;
        assert_eq!(internal(&seen["explanation"]["hooks"]), 0, "{role}");
        assert_eq!(seen["explanation"]["rounds"], owner["rounds"], "the rest is for everybody");
        let named = |manifest: &Value| manifest["hook_sources"].as_array().map_or(0, Vec::len);
        let params = stage.with(json!({ "turn_id": turn }));
        let seen = other.ok("turn/manifest", params.clone()).await;
        assert_eq!(named(&seen["manifests"][0]["manifest"]), 0, "{role}: {seen}");
        let own = stage.socket.ok("turn/manifest", params).await;
        assert_eq!(named(&own["manifests"][0]["manifest"]), 1, "{own}");
        let params = stage.with(json!({ "thread_id": stage.thread }));
        assert_eq!(named(&other.ok("prompt/preview", params).await["manifest"]), 0, "{role}");
    }
}
