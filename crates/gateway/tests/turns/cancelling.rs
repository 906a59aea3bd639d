//! Turns that are stopped, by somebody or by the end of their gateway.

use std::time::Duration;

use scripted_model::{Answer, ScriptedModel};
use serde_json::json;
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
    // What was said is kept, and the provider is no longer listened to.
    assert!(cancelled["answer"].as_str().unwrap().starts_with("word "));
    until("the provider to notice", async || stage.model.abandoned() == 1).await;
    // Once more changes nothing.
    assert_eq!(stage.socket.ok("turn/cancel", &params).await["turn"], cancelled);
    // The thread continues, without what was cancelled.
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
async fn a_turn_of_a_dead_gateway_is_failed_and_one_of_a_living_gateway_is_left_alone() {
    let gateway = TestGateway::start().await.unwrap();
    let workspace = gateway.workspace("w").await.unwrap().id;
    let store = gateway.gateway().store().clone();
    let mut turns = Vec::new();
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
