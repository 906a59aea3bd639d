//! `turn/request` rebuilds every request byte for byte.

use protocol::{ContentHash, Role};
use scripted_model::{Answer, Stop, Wire};
use serde_json::{Value, json};

use crate::support::{Setting, Socket, Stage, writing};

const FILES: &[(&str, &str)] =
    &[("AGENTS.md", "Be brief."), ("a/AGENTS.md", "Mind the tests."), ("a/x.txt", "text\n")];

/// Returns the rebuilt body of a round.
async fn rebuilt(stage: &mut Stage, turn: &Value, round: u64) -> Value {
    let params = stage.with(json!({ "turn_id": turn["turn"]["id"], "round": round }));
    stage.socket.ok("turn/request", params).await
}

#[tokio::test]
async fn every_request_is_rebuilt_byte_for_byte() {
    for wire in [Wire::Anthropic, Wire::Openai, Wire::OpenaiCompatible] {
        let setting = Setting { mode: "agent", wire, files: FILES, turns: writing(), ..Setting::default() };
        let mut stage = Stage::set(setting).await;
        stage
            .socket
            .ok(
                "memory/add",
                stage.with(json!({ "scope": "user", "category": "fact", "text": "x.txt is ours" })),
            )
            .await;
        stage.model.answer(
            Answer::text("Let me look.")
                .reasoning("There may be more below.", "signature")
                .tool_call("call_1", "read_file", r#"{"path":"a/x.txt"}"#)
                .tool_call("call_2", "list_dir", r#"{"path":"missing"}"#),
        );
        stage.model.answer(Answer::text("It says").stop(Stop::MaxOutputTokens));
        stage.model.answer(Answer::text("text."));
        stage.model.answer(Answer::text("You are welcome."));
        let first =
            stage.ask_with(json!({ "input": "What does a/x.txt say?", "context": "open: a/x.txt" })).await;
        let second = stage.ask("Thanks.").await;
        let bodies = stage.bodies();
        assert_eq!(bodies.len(), 4);
        for (body, (turn, round)) in bodies.iter().zip([(&first, 1), (&first, 2), (&first, 3), (&second, 1)])
        {
            let request = rebuilt(&mut stage, turn, round).await;
            assert_eq!(request["body"].as_str().unwrap(), body.to_string(), "{wire:?} round {round}");
            let sha256 = ContentHash::of(body.to_string()).to_string();
            assert_eq!((&request["sha256"], &request["round"]), (&json!(sha256), &json!(round)));
            assert!(!request.to_string().contains("key-of-the-test"));
        }
        let last = stage.with(json!({ "turn_id": first["turn"]["id"] }));
        assert_eq!(stage.socket.ok("turn/request", last).await["round"], 3, "the last one without a number");
    }
}

#[tokio::test]
async fn requests_are_for_operators_and_for_recorded_rounds() {
    let mut stage = Stage::chat().await;
    stage.model.answer(Answer::text("Hello."));
    let turn = stage.ask("Hello?").await;
    let params = stage.with(json!({ "turn_id": turn["turn"]["id"] }));
    let reader = stage.gateway.token("reader", Role::Reader, None).await.unwrap();
    let mut other = Socket::connect(&stage.gateway, &reader).await;
    other.refused(-32003, "turn/request", params).await;
    let params = stage.with(json!({ "turn_id": turn["turn"]["id"], "round": 9 }));
    stage.socket.refused(-32004, "turn/request", params).await;
}

#[tokio::test]
async fn private_memory_of_another_user_is_not_rebuilt() {
    let mut stage = Stage::chat().await;
    let memory = json!({ "scope": "user", "category": "preference", "text": "Ada likes tabs" });
    stage.socket.ok("memory/add", stage.with(memory)).await;
    stage.model.answer(Answer::text("Hello."));
    let turn = stage.ask("Hello?").await;
    let params = stage.with(json!({ "turn_id": turn["turn"]["id"] }));
    assert!(stage.socket.ok("turn/request", &params).await.to_string().contains("Ada likes tabs"));
    let operator = stage.gateway.token("operator", Role::Operator, None).await.unwrap();
    Socket::connect(&stage.gateway, &operator).await.refused(-32003, "turn/request", &params).await;
}

// A summary replaces turns, and a rejected request is repeated in a shorter form.
#[tokio::test]
async fn requests_with_a_summary_are_rebuilt() {
    let mut stage = Stage::chat().await;
    for number in 1..=4 {
        stage.model.answer(Answer::text(&format!("answer {number}")));
        stage.ask(&format!("question {number}")).await;
    }
    stage.model.answer(Answer::context_too_long());
    stage.model.answer(Answer::text("the summary"));
    stage.model.answer(Answer::text("shorter"));
    let turn = stage.ask("question 5").await;
    let bodies = stage.bodies();
    for (body, round) in [(&bodies[4], 1), (&bodies[6], 2)] {
        assert_eq!(rebuilt(&mut stage, &turn, round).await["body"].as_str().unwrap(), body.to_string());
    }
}
