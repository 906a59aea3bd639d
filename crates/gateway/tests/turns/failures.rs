//! Failures of models, and of clients.

mod cancelling;
mod caps;
mod failed_turns;
mod recovery;

use std::time::Duration;

use agent::WhenBusy;
use scripted_model::{Answer, Stop, Wire};
use serde_json::json;
use test_gateway::TestGateway;

use crate::support::{MODEL, Setting, Socket, Stage, World, id, metric, texts, until, writing};

#[tokio::test]
async fn a_missing_model_error_explains_the_configuration() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let params = world.with(json!({ "thread_id": world.thread, "input": "hello" }));
    let owner = gateway.owner_in_memory();
    let error = crate::support::ask(&owner, "turn/start", params).await.unwrap_err();
    assert_eq!(error.code, -32050);
    assert_eq!(error.message, "no model is configured");
    let hint = error.data.unwrap().hint.unwrap();
    let hints: Vec<&str> = hint.lines().collect();
    assert!(hints[0].contains("--model") && hints[1].contains("FOREWORD_MODEL_DEFAULT"), "{hint}");
    for (hint, name) in hints[2..].iter().zip(["Anthropic", "OpenAI", "Ollama"]) {
        assert!(hint.starts_with(name) && hint.contains("`model.default = "), "{hint}");
    }
    assert_eq!(hints.len(), 5);
}

#[tokio::test]
async fn invalid_turns_are_rejected_before_they_start() {
    let mut stage = Stage::chat().await;
    let with = |others: serde_json::Value| {
        let mut params = stage.with(json!({ "thread_id": stage.thread, "input": "hello" }));
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    };
    let refusals = [
        (-32602, json!({ "input": " \n" })),
        (-32602, json!({ "model": "no-slash" })),
        (-32004, json!({ "model": "nobody/gpt" })),
        (-32050, json!({ "model": "openai/gpt" })),
        (-32003, json!({ "cwd": "/etc" })),
        (-32011, json!({ "cwd": "missing" })),
        (-32004, json!({ "thread_id": "0198c0de-0000-7000-8000-000000000000" })),
        (-32602, json!({ "wrong": 1 })),
        (-32004, json!({ "skills": ["none"] })),
        (-32004, json!({ "mcp": ["none"] })),
    ];
    let refusals: Vec<_> = refusals.into_iter().map(|(code, others)| (code, with(others))).collect();
    for (code, params) in refusals {
        stage.socket.refused(code, "turn/start", params).await;
    }
    let params = stage.with(json!({ "thread_id": stage.thread }));
    assert_eq!(stage.socket.ok("turn/list", params).await["turns"], json!([]));
}

#[tokio::test]
async fn provider_failures_are_distinguished() {
    let mut stage = Stage::chat().await;
    for (answer, status, words) in [
        (Answer::wrong_key(), 401, "key"),
        (Answer::unknown_model(), 404, "check the model's name"),
        (Answer::raw(400, "text/plain", "no such field"), 400, "no such field"),
    ] {
        stage.model.answer(answer);
        let error = stage.fail("hello").await;
        assert_eq!((&error["kind"], &error["provider"]), (&json!("provider_failed"), &json!("scripted")));
        assert_eq!((&error["status"], &error["retryable"]), (&json!(status), &json!(false)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        // Some providers quote the key in their errors, and this error is stored and shown to every reader of the
        // thread.
        assert!(!error.to_string().contains("key-of-the-test"));
    }
    // A failed turn leaves nothing behind.
    stage.model.answer(Answer::text("fine"));
    stage.ask("again").await;
    assert_eq!(stage.last_body()["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_busy_provider_is_retried() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::rate_limited("0"));
    stage.model.answer(Answer::failure(503));
    stage.model.drop_connections(1);
    stage.model.answer(Answer::text("at last"));
    assert_eq!(stage.ask("hello").await["turn"]["answer"], "at last");
}

#[tokio::test]
async fn an_interrupted_answer_keeps_its_partial_text() {
    let mut stage = Stage::chat().await;
    let long = "word ".repeat(40);
    stage.model.answer(Answer::text(&long).in_deltas(20).cut_after_events(12));
    let turn = stage.start("hello").await;
    let ended = stage.ended(&turn).await;
    assert_eq!(
        (&ended["turn"]["status"], &ended["turn"]["error"]["retryable"]),
        (&json!("failed"), &json!(true))
    );
    let said = ended["turn"]["answer"].as_str().unwrap();
    assert!(long.starts_with(said) && !said.is_empty(), "{said}");
    stage.model.answer(Answer::text("whole"));
    assert_eq!(stage.ask("again").await["turn"]["answer"], "whole");
}

#[tokio::test]
async fn garbage_in_a_stream_is_an_error() {
    let mut stage = Stage::chat().await;
    let garbage: [&[u8]; 4] = [
        b"data: {\"type\":\"content_block_delta\",\"del\n\n",
        b"data: \xff\xfe\x00\n\n",
        b"event: content_block_delta\ndata: 7\n\n",
        b"data: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
    ];
    for bytes in garbage {
        stage.model.answer(Answer::text("one two").in_deltas(2).insert(2, bytes));
        let turn = stage.start("hello").await;
        let ended = stage.ended(&turn).await;
        // Some garbage can be skipped and some cannot. The turn only has to end, because a panic would leave it running
        // forever.
        assert_ne!(ended["turn"]["status"], "running", "{ended}");
        if ended["turn"]["status"] == "failed" {
            assert_eq!(ended["turn"]["error"]["kind"], "provider_failed");
        }
    }
    // The connection breaks in the middle of an event.
    stage.model.answer(Answer::text("one two").cut_after_bytes(300));
    assert_eq!(stage.fail("hello").await["kind"], "provider_failed");
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let change = |config: &mut provider::ProviderConfig| {
        config.timeouts.first_byte = Duration::from_millis(200);
        config.timeouts.idle = Duration::from_millis(200);
    };
    let mut stage = Stage::set(Setting { change, ..Setting::default() }).await;
    stage.model.answer(Answer::silence());
    let error = stage.fail("hello").await;
    assert_eq!((&error["kind"], &error["retryable"]), (&json!("provider_failed"), &json!(true)), "{error}");
    stage.model.answer(Answer::text("one two three").in_deltas(3).stall_after_events(4));
    assert_eq!(stage.fail("hello").await["kind"], "provider_failed");
}

#[tokio::test]
async fn refusals_and_empty_answers_fail_the_turn() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::empty().stop(Stop::Refused));
    assert_eq!(stage.fail("hello").await["kind"], "refused");
    stage.model.answer(Answer::empty());
    assert_eq!(stage.fail("hello").await["kind"], "no_answer");
}

#[tokio::test]
async fn an_empty_answer_after_results_is_retried_once() {
    let mut stage = Stage::agent(&[("a.txt", "text")]).await;
    let read =
        |id: &str| Answer::empty().and_text("Let me look.").tool_call(id, "read_file", r#"{"path":"a.txt"}"#);
    stage.model.answer(read("call_1"));
    stage.model.answer(Answer::empty());
    stage.model.answer(Answer::text("It says text."));
    let answer = stage.ask("What does it say?").await;
    assert_eq!(answer["turn"]["answer"], "Let me look.\n\nIt says text.");
    let last = stage.last_body()["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(texts(&last).concat().contains("Your answer was empty."), "{last}");
    // Text from before the results does not answer them.
    stage.model.answer(read("call_2"));
    stage.model.answer(Answer::empty());
    stage.model.answer(Answer::empty());
    assert_eq!(stage.fail("And now?").await["kind"], "no_answer");
}

#[tokio::test]
async fn a_truncated_answer_is_continued() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::text("The first half ").stop(Stop::MaxOutputTokens));
    stage.model.answer(Answer::text("and the second."));
    let answer = stage.ask("tell me").await;
    assert_eq!(answer["turn"]["answer"], "The first half and the second.");
    let last = stage.last_body()["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(texts(&last).concat().contains("Continue exactly where it stopped"), "{last}");
    // A model whose answer is truncated again and again is not asked forever.
    stage.model.answer_by(|_| Answer::text("more").stop(Stop::MaxOutputTokens));
    let before = stage.bodies().len();
    stage.ask("tell me more").await;
    // The first request and three continuations.
    assert_eq!(stage.bodies().len() - before, 4);
}

#[tokio::test]
async fn an_oversized_question_fails_without_side_effects() {
    let turns = agent::TurnSettings {
        max_context_tokens: 6_000,
        response_reserve_tokens: 1_000,
        ..Default::default()
    };
    let mut stage = Stage::set(Setting { turns, ..Setting::default() }).await;
    stage.model.answer_by(|_| Answer::text("yes"));
    stage.ask(&"the first question ".repeat(400)).await;
    let error = stage.fail(&"far too long ".repeat(3_000)).await;
    assert_eq!(error["kind"], "too_long", "{error}");
    // An oversized question leaves hardly any space, so this turn drops the earlier ones.
    stage.ask(&"rather long ".repeat(1_800)).await;
    assert!(!stage.last_body().to_string().contains("the first question"));
    stage.ask("and now?").await;
}

#[tokio::test]
async fn a_thread_runs_one_turn_at_a_time() {
    let mut stage = Stage::chat().await;
    let (answer, release) = Answer::text("slow answer").in_deltas(10).held_after_events(5);
    stage.model.answer(answer);
    let turn = stage.start("first").await;
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "second" }));
    stage.socket.refused(-32011, "turn/start", params).await;
    release.now();
    assert_eq!(stage.ended(&turn).await["turn"]["status"], "completed");
    stage.model.answer(Answer::text("now"));
    stage.ask("second").await;
}

#[tokio::test]
async fn turns_of_a_thread_are_queued_if_configured() {
    let turns = agent::TurnSettings { when_busy: WhenBusy::Queue, ..Default::default() };
    let mut stage = Stage::set(Setting { turns, ..Setting::default() }).await;
    for number in 1..=4 {
        let answer = Answer::text(&format!("answer {number}"));
        stage.model.answer(answer.in_deltas(3).drip(Duration::from_millis(10)));
    }
    let mut requests = Vec::new();
    for number in 1..=4 {
        let params = stage.with(json!({ "thread_id": stage.thread, "input": format!("question {number}") }));
        // Sent without waiting for answers, so that all of them are queued while the first turn runs.
        requests.push(stage.socket.request("turn/start", params).await);
    }
    let mut last = String::new();
    for (index, request) in requests.into_iter().enumerate() {
        let turn = stage.socket.answer(request).await.unwrap()["turn"].clone();
        assert_eq!(turn["ordinal"], index + 1);
        last = turn["id"].as_str().unwrap().to_owned();
    }
    assert_eq!(stage.ended(&last).await["turn"]["answer"], "answer 4");
}

#[tokio::test]
async fn a_queued_turn_is_dropped_with_its_connection() {
    let turns = agent::TurnSettings { when_busy: WhenBusy::Queue, ..Default::default() };
    let mut stage = Stage::set(Setting { turns, ..Setting::default() }).await;
    let (answer, release) = Answer::text("slow answer").in_deltas(10).held_after_events(5);
    stage.model.answer(answer);
    stage.model.answer_by(|_| Answer::text("after that"));
    let first = stage.start("first").await;
    let mut other = Socket::owner(&stage.gateway).await;
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "left alone" }));
    other.request("turn/start", params).await;
    drop(other);
    // The gateway drops the request before it counts the connection as closed.
    let connections = async || metric(&stage.gateway, "foreword_connections").await;
    until("the other to be gone", async || connections().await == Some(1.0)).await;
    release.now();
    stage.ended(&first).await;
    stage.ask("second").await;
    let params = stage.with(json!({ "thread_id": stage.thread }));
    let turns = stage.socket.ok("turn/list", params).await["turns"].clone();
    let inputs: Vec<&str> =
        turns.as_array().unwrap().iter().map(|turn| turn["input"].as_str().unwrap()).collect();
    assert_eq!(inputs, ["second", "first"]);
}

/// Creates an agent whose second turn is queued behind one that never ends, and its workspace's next root.
async fn queued_agent(cwd: &str) -> (Stage, impl Future<Output = String>, tempfile::TempDir) {
    let turns = agent::TurnSettings { when_busy: WhenBusy::Queue, ..writing() };
    let files = &[("AGENTS.md", "The rules."), ("sub/notes.txt", "of the first root")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    stage.model.answer(Answer::silence());
    stage.model.answer(Answer::empty().tool_call("1", "read_file", r#"{"path":"notes.txt"}"#));
    stage.model.answer(Answer::text("read"));
    let first = stage.start("first").await;
    until("the model to be asked", async || stage.bodies().len() == 1).await;
    let mut other = Socket::owner(&stage.gateway).await;
    let mut params = stage.with(json!({ "thread_id": stage.thread, "input": "second" }));
    params["cwd"] = json!(stage.path(cwd));
    if cwd.is_empty() {
        params.as_object_mut().unwrap().remove("cwd");
    }
    let written = || stage.gateway.gateway().store().statements().transactions;
    let before = written();
    let request = other.request("turn/start", params).await;
    // It tries to be written, is refused while the first runs, and tries again.
    until("the second to wait behind the first", async || written() > before + 1).await;
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("notes.txt"), "of the other root").unwrap();
    let moved = stage.with(json!({ "root_path": root.path() }));
    stage.socket.ok("workspace/update", moved).await;
    let params = stage.with(json!({ "turn_id": first }));
    let second = async move { id(&other.answer(request).await.unwrap()["turn"]) };
    assert_eq!(stage.socket.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    (stage, second, root)
}

#[tokio::test]
async fn a_queued_turn_uses_the_current_workspace_root() {
    let (mut stage, second, _root) = queued_agent("").await;
    let ended = stage.ended(&second.await).await;
    assert_eq!(ended["turn"]["status"], "completed", "{ended:#}");
    assert!(stage.last_body().to_string().contains("of the other root"), "{ended:#}");
}

#[tokio::test]
async fn a_queued_turn_outside_the_new_root_fails() {
    let (mut stage, second, _root) = queued_agent("sub").await;
    let turn = stage.ended(&second.await).await["turn"].clone();
    assert_eq!(turn["status"], "failed");
    let message = turn["error"]["message"].as_str().unwrap();
    assert!(message.contains("is not inside the workspace's directory"), "{message}");
    assert_eq!(stage.bodies().len(), 1, "the model was asked by the first turn alone");
}

#[tokio::test]
async fn an_answer_without_end_event_is_not_retried() {
    let anthropic = [
        json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "content": [],
            "model": MODEL, "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "half an" } }),
    ];
    let openai = [json!({ "type": "response.output_text.delta", "item_id": "i", "output_index": 0,
        "content_index": 0, "delta": "half an" })];
    let compatible = [json!({ "id": "c", "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": { "content": "half an" } }] })];
    for (wire, events) in [
        (Wire::Anthropic, &anthropic[..]),
        (Wire::Openai, &openai[..]),
        (Wire::OpenaiCompatible, &compatible[..]),
    ] {
        let mut stage = Stage::set(Setting { wire, ..Setting::default() }).await;
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        stage.model.answer(Answer::raw(200, "text/event-stream", body));
        stage.model.answer(Answer::text("asked for twice"));
        let turn = stage.start("hello").await;
        let ended = stage.ended(&turn).await;
        assert_eq!(ended["turn"]["error"]["kind"], "provider_failed", "{wire:?}: {ended:#}");
        assert_eq!(ended["turn"]["answer"], "half an", "{wire:?}");
        assert_eq!(stage.model.remaining(), 1, "{wire:?}: what was told is not asked for again");
    }
}
