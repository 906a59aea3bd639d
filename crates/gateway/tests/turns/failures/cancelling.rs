//! Turns that are stopped by a user or by the end of their gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::TurnSettings;
use scripted_model::{Answer, RecordedRequest, ScriptedModel};
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Setting, Socket, Stage, id, unconfined_shell, until, with_model};

#[tokio::test]
async fn a_turn_is_cancelled_while_its_model_speaks() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::text(&"word ".repeat(200)).in_deltas(200).drip(Duration::from_millis(20)));
    let turn = stage.start("tell me everything").await;
    stage.until(&turn, |answer| answer["turn"]["answer"].is_string()).await;
    let params = stage.with(json!({ "turn_id": turn }));
    let cancelled = stage.socket.ok("turn/cancel", &params).await["turn"].clone();
    assert_eq!(cancelled["status"], "cancelled");
    // The text so far is kept, and the provider's stream is closed.
    assert!(cancelled["answer"].as_str().unwrap().starts_with("word "));
    until("the provider to notice", async || stage.model.abandoned() == 1).await;
    // Cancelling again changes nothing.
    assert_eq!(stage.socket.ok("turn/cancel", &params).await["turn"], cancelled);
    // The thread continues without the cancelled turn.
    stage.model.answer(Answer::text("better"));
    stage.ask("briefly").await;
    assert!(!stage.last_body().to_string().contains("everything"));
}

#[tokio::test]
async fn a_turn_is_cancelled_while_a_tool_runs() {
    let mut turns = crate::support::writing();
    turns.shell = Some(unconfined_shell());
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    let command = json!({ "command": "touch started; sleep 60; touch ended" }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "shell", &command));
    let turn = stage.start("wait").await;
    until("the command to start", async || stage.path("started").exists()).await;
    let params = stage.with(json!({ "turn_id": turn }));
    assert_eq!(stage.socket.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    assert!(!stage.path("ended").exists());
    assert_eq!(stage.model.requests().len(), 1);
    stage.model.answer(Answer::text("fine"));
    stage.ask("go on").await;
}

#[tokio::test]
async fn a_gateway_that_stops_ends_its_turns_cleanly() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer(Answer::silence());
    let setting = Setting::default();
    let gateway = TestGateway::start_with(|settings| with_model(settings, &model, &setting)).await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    let workspace = id(&socket.ok("workspace/create", json!({ "name": "w" })).await["workspace"]);
    let thread = json!({ "workspace_id": workspace, "title": "t" });
    let thread = id(&socket.ok("thread/create", thread).await["thread"]);
    let start = json!({ "workspace_id": workspace, "thread_id": thread, "input": "hello" });
    let turn = id(&socket.ok("turn/start", start).await["turn"]);
    let directory = gateway.stop().await.unwrap();

    let again = |settings: &mut gateway::GatewaySettings| with_model(settings, &model, &setting);
    let gateway = TestGateway::start_in(directory, again).await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    let got = socket.ok("turn/get", json!({ "workspace_id": workspace, "turn_id": turn })).await;
    assert_eq!(got["turn"]["status"], "failed");
    assert_eq!(
        (&got["turn"]["error"]["kind"], &got["turn"]["error"]["retryable"]),
        (&json!("interrupted"), &json!(true))
    );
    model.answer(Answer::text("back"));
    let start = json!({ "workspace_id": workspace, "thread_id": thread, "input": "hello again" });
    socket.ok("turn/start", start).await;
}

#[tokio::test]
async fn only_turns_of_dead_gateways_are_failed() {
    let gateway = TestGateway::start().await.unwrap();
    let workspace = gateway.workspace("w").await.unwrap().id;
    let store = gateway.gateway().store().clone();
    let mut turns = Vec::new();
    // One lease has expired, as after a crash, and the other belongs to a gateway that is still alive.
    for milliseconds in [-1_000, 60_000] {
        let thread = protocol::method::ThreadCreateParams {
            workspace_id: workspace.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: protocol::ThreadMode::Chat,
        };
        let thread = store.create_thread(thread, None).await.unwrap().id;
        let expires_at = protocol::Timestamp::now().milliseconds() + milliseconds;
        let expires_at = protocol::Timestamp::from_milliseconds(expires_at);
        let lease = store::Lease { owner: "another gateway".to_owned(), expires_at };
        let start = protocol::method::TurnStartParams::new(&workspace, &thread, "hello");
        turns.push(store.create_turn(start, lease, None, None).await.unwrap().id);
    }
    let failed = gateway.gateway().agent().fail_dead_turns().await.unwrap();
    assert_eq!(failed, 1);
    let status = async |turn| store.turn(&workspace, turn).await.unwrap().status;
    assert_eq!(status(&turns[0]).await, protocol::TurnStatus::Failed);
    assert_eq!(status(&turns[1]).await, protocol::TurnStatus::Running);
}

/// The point at which a turn is cancelled.
struct Stop {
    at: &'static str,
    /// Behavior of the model up to that point.
    answer: fn(&RecordedRequest) -> Answer,
    /// Returns true once the turn has reached that point.
    is_reached: fn(&Stage, &Value) -> bool,
    turns: fn() -> TurnSettings,
}

fn asks_for_a_summary(body: &Value) -> bool {
    body["system"].to_string().contains("Summarise the conversation")
}

fn has_results(body: &Value) -> bool {
    body["messages"].as_array().unwrap().last().unwrap().to_string().contains("\"tool_result\"")
}

fn with_shell() -> TurnSettings {
    TurnSettings { shell: Some(unconfined_shell()), ..crate::support::writing() }
}

fn small() -> TurnSettings {
    TurnSettings { max_context_tokens: 6_000, response_reserve_tokens: 1_000, ..crate::support::writing() }
}

const READ: &str = r#"{"path":"a.txt"}"#;
const WRITE: &str = r#"{"path":"b.txt","content":"x"}"#;
const RUN: &str = r#"{"command":"touch started; sleep 60"}"#;

const STOPS: &[Stop] = &[
    Stop {
        at: "before the first word",
        answer: |_| Answer::silence(),
        is_reached: |stage, _| stage.model.requests().len() == 2,
        turns: with_shell,
    },
    Stop {
        at: "between two words",
        answer: |_| Answer::text("one two three").in_deltas(3).stall_after_events(4),
        is_reached: |_, answer| answer["turn"]["answer"].is_string(),
        turns: with_shell,
    },
    Stop {
        at: "in the middle of a call",
        answer: |_| Answer::text("Let me see.").tool_call("1", "read_file", READ).stall_after_events(6),
        is_reached: |_, answer| answer["turn"]["answer"].is_string(),
        turns: with_shell,
    },
    Stop {
        at: "while the provider is waited for",
        answer: |_| Answer::rate_limited("60"),
        is_reached: |stage, _| stage.model.requests().len() == 2,
        turns: with_shell,
    },
    Stop {
        at: "while a call asks",
        answer: |_| Answer::empty().tool_call("1", "read_file", READ).tool_call("2", "write_file", WRITE),
        is_reached: |_, answer| answer["approvals"].as_array().is_some_and(|asked| !asked.is_empty()),
        turns: TurnSettings::default,
    },
    Stop {
        at: "while a tool runs",
        answer: |_| Answer::empty().tool_call("1", "read_file", READ).tool_call("2", "shell", RUN),
        is_reached: |stage, _| stage.path("started").exists(),
        turns: with_shell,
    },
    Stop {
        at: "after the results of tools",
        answer: |request| {
            let first = Answer::empty().tool_call("1", "write_file", WRITE);
            if has_results(&request.body) { Answer::silence() } else { first }
        },
        is_reached: |stage, _| has_results(&stage.last_body()),
        turns: with_shell,
    },
    Stop {
        at: "while earlier turns are summarised",
        answer: |request| {
            let long = Answer::text(&"some words of an answer ".repeat(100));
            if asks_for_a_summary(&request.body) { Answer::silence() } else { long }
        },
        is_reached: |stage, _| asks_for_a_summary(&stage.last_body()),
        turns: small,
    },
];

/// Asserts that every call has its result in the next message, and every result its call in the previous one.
fn assert_paired(body: &Value, at: &str) {
    let ids = |message: Option<&Value>, kind: &str, field: &str| -> Vec<String> {
        let blocks = message.and_then(|message| message["content"].as_array()).into_iter().flatten();
        let found = blocks.filter(|block| block["type"] == kind);
        found.map(|block| block[field].as_str().unwrap().to_owned()).collect()
    };
    let messages = body["messages"].as_array().unwrap();
    for index in 0..=messages.len() {
        let before = index.checked_sub(1).and_then(|before| messages.get(before));
        let calls = ids(before, "tool_use", "id");
        assert_eq!(ids(messages.get(index), "tool_result", "tool_use_id"), calls, "{at}: {body:#}");
    }
}

#[tokio::test]
async fn a_thread_continues_after_cancelling_at_any_point() {
    for stop in STOPS {
        let at = stop.at;
        let files = &[("a.txt", "text\n"), ("AGENTS.md", "RULE-ROOT")];
        let change = |config: &mut provider::ProviderConfig| {
            // Well above the 60 s that the provider asks for, so that the turn waits instead of failing.
            config.retry.longest_asked = Duration::from_secs(120);
        };
        let setting = Setting { mode: "agent", files, turns: (stop.turns)(), change, ..Setting::default() };
        let mut stage = Stage::set(setting).await;
        let is_calm = Arc::new(AtomicBool::new(true));
        stage.model.answer_by({
            let is_calm = Arc::clone(&is_calm);
            move |request| {
                if is_calm.load(Ordering::SeqCst) { Answer::text("Fine.") } else { (stop.answer)(request) }
            }
        });
        stage.ask("Hello.").await;
        is_calm.store(false, Ordering::SeqCst);
        // Some points are only reached after more than one turn.
        let turn = loop {
            let turn = stage.start("Go.").await;
            let mut reached = false;
            let mut last = stage.get(&turn).await;
            while last["turn"]["status"] == "running" && !reached {
                reached = (stop.is_reached)(&stage, &last);
                last = stage.get(&turn).await;
            }
            assert!(stage.bodies().len() < 50, "{at} was never reached");
            if reached {
                break turn;
            }
        };
        let cancelled = stage.with(json!({ "turn_id": turn }));
        let cancelled = stage.socket.ok("turn/cancel", cancelled).await;
        assert_eq!(cancelled["turn"]["status"], "cancelled", "{at}");
        let shown = stage.get(&turn).await;
        assert_eq!(shown["approvals"].as_array().map_or(0, Vec::len), 0, "{at}: nobody is asked any more");

        is_calm.store(true, Ordering::SeqCst);
        stage.ask("And now?").await;
        let body = stage.last_body();
        // Providers reject a request with an unpaired call or result, and then the thread could never be continued.
        assert_paired(&body, at);
        let text = body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(text.contains("The turn before this one was cancelled by owner"), "{at}: {text}");
        let has_changed = at == "after the results of tools";
        assert_eq!(text.contains("files it changed: b.txt."), has_changed, "{at}: {text}");
        assert!(body["system"].to_string().contains("RULE-ROOT"), "{at}");
        // The note appears once, and the turn after that is ordinary.
        stage.ask("And then?").await;
        let body = stage.last_body();
        assert_paired(&body, at);
        assert_eq!(body.to_string().matches("was cancelled by owner").count(), 1, "{at}");
    }
}
