//! Servers that answer with a single JSON value although a stream was requested.

use provider::{Block, ChatEvent, ErrorKind, StopReason, ToolCall};
use scripted_model::{Answer, Stop};
use serde_json::{Value, json};

use crate::stage::{KINDS, Stage};

#[tokio::test]
async fn whole_answer_equals_a_stream() {
    let answers = [
        Answer::text("Grüße."),
        Answer::text("Reading.").tool_call("a", "f", r#"{"n":1}"#).tool_call("b", "g", r#"{"n":2}"#),
        Answer::empty().reasoning("Hm.", "signature").tool_call("a", "f", r#"{"n":1}"#),
        Answer::empty().hidden_reasoning("sealed").and_text("Done."),
        Answer::text("Cut").stop(Stop::MaxOutputTokens),
        Answer::text("No.").stop(Stop::Refused),
        Answer::empty(),
    ];
    for &kind in KINDS {
        for answer in &answers {
            let stage = Stage::with(kind, [answer.clone(), answer.clone().whole()]).await;
            let streamed = stage.ask().await;
            let whole = stage.ask().await;
            let streamed = streamed.response();
            let told = &whole;
            let whole = whole.response();
            assert_eq!(whole.message.text(), streamed.message.text(), "{kind:?}");
            let calls = |response: &provider::ChatResponse| -> Vec<ToolCall> {
                response.message.tool_calls().cloned().collect()
            };
            assert_eq!(calls(whole), calls(streamed), "{kind:?}");
            let reasoning = |response: &provider::ChatResponse| -> Vec<String> {
                let reasoning = response.message.blocks.iter().filter_map(|block| match block {
                    Block::Reasoning(reasoning) => Some(reasoning.text.clone()),
                    _ => None,
                });
                reasoning.collect()
            };
            assert_eq!(reasoning(whole), reasoning(streamed), "{kind:?}");
            assert_eq!((&whole.stop, whole.usage), (&streamed.stop, streamed.usage), "{kind:?}");
            assert_eq!(whole.model, streamed.model);
            assert_eq!(told.texts().concat(), whole.message.text(), "the caller hears of it, too");
        }
    }
}

#[tokio::test]
async fn whole_answer_is_recognised_without_a_content_type() {
    let bodies = [
        json!({ "content": [{ "type": "text", "text": "Hello." }], "stop_reason": "end_turn" }),
        json!({ "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "Hello." }] }] }),
        json!({ "choices": [{ "message": { "content": "Hello." } }] }),
    ];
    for (&kind, body) in KINDS.iter().zip(bodies) {
        for content_type in ["text/event-stream", "text/plain", "application/json; charset=utf-8"] {
            let answer = Answer::raw(200, content_type, format!("\n {body:#}\n"));
            let stage = Stage::with(kind, [answer.clone(), answer.in_pieces_of(3)]).await;
            for _ in 0..2 {
                let outcome = stage.ask().await;
                let response = outcome.response();
                assert_eq!(response.message.text(), "Hello.", "{kind:?}");
                assert_eq!(
                    (&response.stop, response.model.as_str()),
                    (&StopReason::EndTurn, "scripted-model")
                );
            }
        }
    }
}

#[tokio::test]
async fn cut_whole_answer_is_retried() {
    for &kind in KINDS {
        let cut = Answer::text("Hello.").whole().cut_after_bytes(30);
        let stage = Stage::with(kind, [cut, Answer::text("Hello.").whole()]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.response().message.text(), "Hello.", "{kind:?}");
        assert_eq!((outcome.retries(), outcome.texts()), (1, vec!["Hello."]));
    }
}

#[tokio::test]
async fn whole_error_is_classified() {
    let cases: [(Value, ErrorKind); 3] = [
        (json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } }), ErrorKind::Overloaded),
        (json!({ "error": { "code": 429, "message": "Wait" } }), ErrorKind::RateLimited),
        (
            json!({ "error": { "code": "context_length_exceeded", "message": "x" } }),
            ErrorKind::ContextTooLong,
        ),
    ];
    for &kind in KINDS {
        for (body, expected) in &cases {
            let answer = Answer::raw(200, "application/json", body.to_string());
            let stage = Stage::with(kind, [answer.clone(), answer.clone(), answer]).await;
            assert_eq!(stage.ask().await.error().kind, *expected, "{kind:?} {body}");
        }
    }
}

#[tokio::test]
async fn other_json_is_rejected() {
    for &kind in KINDS {
        for body in [
            "{}",
            "{\"hello\":1}",
            "[]",
            "null",
            "",
            "{\"choices\":[]}",
            "{\"content\":\"x\"}",
            "{\"output\":{}}",
        ] {
            let stage = Stage::with(kind, [Answer::raw(200, "application/json", body)]).await;
            let outcome = stage.ask().await;
            let error = outcome.error();
            assert_eq!(error.kind, ErrorKind::Malformed, "{kind:?} {body}");
            assert!(error.message.ends_with("not a stream of events"), "{error}");
            assert_eq!(error.hint.as_deref(), Some("is the base URL that of the API?"));
            assert!(!outcome.events.iter().any(|event| matches!(event, ChatEvent::Retrying { .. })));
        }
    }
}

#[tokio::test]
async fn whole_answer_is_bounded() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::text(&"x".repeat(30_000)).whole()]).await;
        let mut config = stage.config();
        config.limits.response_bytes = 20_000;
        let outcome =
            crate::stage::outcome(&provider::Provider::new(config).unwrap(), &crate::stage::hello()).await;
        assert_eq!(outcome.error().message, "the answer is longer than 20000 bytes", "{kind:?}");
    }
}
