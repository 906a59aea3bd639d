//! Limits on concurrent turns and on daily tokens.

use std::num::NonZeroU64;

use agent::{TurnLimits, TurnSettings};
use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Setting, Stage, id};

async fn stage(limits: TurnLimits) -> Stage {
    let turns = TurnSettings { limits, ..TurnSettings::default() };
    Stage::set(Setting { turns, ..Setting::default() }).await
}

/// Asks in a new thread.
async fn ask_in_new_thread(stage: &mut Stage) -> Result<Value, Value> {
    let made = stage.with(json!({ "title": "another", "mode": "chat" }));
    let thread = id(&stage.socket.ok("thread/create", made).await["thread"]);
    let params = stage.with(json!({ "thread_id": thread, "input": "hello" }));
    stage.socket.call("turn/start", params).await
}

/// Asserts that a turn was rejected for a limit, and returns its details.
fn limit_of(asked: Result<Value, Value>, what: &str, limit: u64) -> Value {
    let refused = asked.unwrap_err();
    assert_eq!(refused["code"], -32030, "{refused}");
    assert_eq!((&refused["data"]["what"], &refused["data"]["limit"]), (&json!(what), &json!(limit)));
    refused
}

#[tokio::test]
async fn a_workspace_has_a_limit_of_running_turns() {
    let mut stage = stage(TurnLimits { running_in_workspace: 2, ..TurnLimits::default() }).await;
    (0..2).for_each(|_| stage.model.answer(Answer::silence()));
    for _ in 0..2 {
        ask_in_new_thread(&mut stage).await.unwrap();
    }
    limit_of(ask_in_new_thread(&mut stage).await, "workspace_turns", 2);
    assert_eq!(stage.socket.ok("workspace/list", json!({})).await["running_turns"], 2);
    // The two admitted turns reach the model and the refused one does not.
    crate::support::until("both to be asked", async || stage.model.requests().len() == 2).await;
}

#[tokio::test]
async fn a_gateway_has_a_limit_of_running_turns() {
    let mut stage = stage(TurnLimits { running: 1, ..TurnLimits::default() }).await;
    stage.model.answer(Answer::silence());
    let first = stage.start("hello").await;
    limit_of(ask_in_new_thread(&mut stage).await, "turns", 1);
    let cancel = stage.with(json!({ "turn_id": first }));
    stage.socket.ok("turn/cancel", cancel).await;
    stage.model.answer(Answer::text("Hello."));
    // The slot is free once the post-turn hooks have finished.
    crate::support::until("a place", async || ask_in_new_thread(&mut stage).await.is_ok()).await;
}

#[tokio::test]
async fn a_workspace_has_a_daily_token_limit() {
    let mut stage = stage(TurnLimits { tokens_per_day: NonZeroU64::new(1), ..TurnLimits::default() }).await;
    stage.model.answer(Answer::text("Hello."));
    let first = stage.start("hello").await;
    stage.ended(&first).await;
    let refused = limit_of(ask_in_new_thread(&mut stage).await, "tokens_per_day", 1);
    assert!(refused["data"]["hint"].as_str().is_some_and(|hint| hint.contains("limits.tokens_per_day")));
}

#[tokio::test]
async fn a_turn_at_the_token_limit_ends_with_its_answer() {
    let limits = TurnLimits { tokens_per_day: NonZeroU64::new(1), ..TurnLimits::default() };
    let turns = TurnSettings { limits, ..TurnSettings::default() };
    let files = &[("a.txt", "text")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    stage.model.answer(Answer::empty().tool_call("call_1", "read_file", r#"{"path":"a.txt"}"#));
    stage.model.answer(Answer::text("It says text."));
    let answer = stage.ask("What does it say?").await;
    assert_eq!(answer["turn"]["answer"], "It says text.");
    // The turn may finish with an answer, so the tokens spent so far are not wasted, but it starts no more work.
    assert_eq!(stage.last_body()["tool_choice"]["type"], "none", "{}", stage.last_body());
}

#[tokio::test]
async fn running_turns_count_towards_the_token_limit() {
    let limits = TurnLimits { tokens_per_day: NonZeroU64::new(1), ..TurnLimits::default() };
    let turns = TurnSettings { limits, ..TurnSettings::default() };
    let files = &[("a.txt", "text")];
    let mut stage = Stage::set(Setting { mode: "agent", files, turns, ..Setting::default() }).await;
    stage.model.answer(Answer::empty().tool_call("call_1", "read_file", r#"{"path":"a.txt"}"#));
    stage.model.answer(Answer::silence());
    stage.start("What does it say?").await;
    crate::support::until("the second round", async || stage.model.requests().len() == 2).await;
    limit_of(ask_in_new_thread(&mut stage).await, "tokens_per_day", 1);
}
