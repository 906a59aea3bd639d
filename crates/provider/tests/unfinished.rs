//! Complete answers with problems: cut calls, malformed arguments, refusals, or no content.

use provider::{ChatEvent, StopReason};
use scripted_model::{Answer, Stop};
use serde_json::json;

use crate::stage::{KINDS, Outcome, Stage};

/// Returns the ids of calls that were reported as complete.
fn finished(outcome: &Outcome) -> Vec<&str> {
    let calls = outcome.events.iter().filter_map(|event| match event {
        ChatEvent::ToolCallFinished { call } => Some(call.id.as_str()),
        _ => None,
    });
    calls.collect()
}

#[tokio::test]
async fn call_cut_by_the_limit_is_unfinished() {
    for &kind in KINDS {
        // The limit may fall inside a value, inside the structure or before the first byte; the last looks like a call
        // without arguments.
        for arguments in [r#"{"path":"a.rs","content":"fn ma"#, r#"{"path""#, ""] {
            let answer = Answer::text("Writing.")
                .tool_call("whole", "f", r#"{"n":1}"#)
                .tool_call("cut", "write_file", arguments)
                .in_deltas(3)
                .stop(Stop::MaxOutputTokens);
            let stage = Stage::with(kind, [answer]).await;
            let outcome = stage.ask().await;
            let response = outcome.response();
            assert_eq!(response.stop, StopReason::MaxOutputTokens, "{kind:?}");
            let calls: Vec<&str> = response.message.tool_calls().map(|call| call.id.as_str()).collect();
            let cut: Vec<(&str, &str)> = response
                .unfinished_calls
                .iter()
                .map(|call| (call.id.as_str(), call.arguments.as_str()))
                .collect();
            assert_eq!((calls, cut), (vec!["whole"], vec![("cut", arguments)]), "{kind:?}");
            assert_eq!(finished(&outcome), ["whole"], "{kind:?}");
        }
    }
}

#[tokio::test]
async fn call_completed_at_the_limit_is_finished() {
    for &kind in KINDS {
        let answer = Answer::empty().tool_call("a", "f", r#"{"n":1}"#).stop(Stop::MaxOutputTokens);
        let stage = Stage::with(kind, [answer]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.response().message.tool_calls().count(), 1, "{kind:?}");
        assert!(outcome.response().unfinished_calls.is_empty());
        assert_eq!(finished(&outcome), ["a"]);
    }
}

#[tokio::test]
async fn malformed_arguments_are_not_blamed_on_the_limit() {
    for &kind in KINDS {
        for arguments in [r#"{"path": "a"#, "[1]", "path=a"] {
            let stage = Stage::with(kind, [Answer::empty().tool_call("a", "f", arguments)]).await;
            let outcome = stage.ask().await;
            let response = outcome.response();
            assert_eq!(response.stop, StopReason::ToolCalls, "{kind:?}");
            let call = response.message.tool_calls().next().unwrap();
            assert!(call.input().is_err() && call.arguments == arguments, "{kind:?}");
            assert_eq!(finished(&outcome), ["a"]);
            assert!(response.unfinished_calls.is_empty());
        }
    }
}

#[tokio::test]
async fn call_without_arguments_is_complete() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::empty().tool_call("a", "f", "")]).await;
        let outcome = stage.ask().await;
        assert!(outcome.response().message.tool_calls().next().unwrap().input().unwrap().is_empty());
        assert_eq!(finished(&outcome), ["a"], "{kind:?}");
    }
}

#[tokio::test]
async fn empty_answer_is_reported_as_empty() {
    for &kind in KINDS {
        for (answer, is_empty) in [
            (Answer::empty(), true),
            (Answer::text(" \n"), true),
            (Answer::empty().reasoning("Hm.", "signature"), true),
            (Answer::text("x"), false),
            (Answer::empty().tool_call("a", "f", "{}"), false),
            (Answer::empty().tool_call("a", "f", "{").stop(Stop::MaxOutputTokens), false),
        ] {
            let stage = Stage::with(kind, [answer]).await;
            let outcome = stage.ask().await;
            assert_eq!(outcome.response().is_empty(), is_empty, "{kind:?} {outcome:?}");
            assert_eq!(outcome.retries(), 0);
        }
    }
}

#[tokio::test]
async fn refusal_without_a_filter_is_recognised() {
    let bodies = [
        json!({ "content": [{ "type": "text", "text": "I will not." }], "stop_reason": "refusal" }),
        json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "I will not." }] }] }),
        json!({ "choices": [{ "message": { "content": null, "refusal": "I will not." }, "finish_reason": "stop" }] }),
    ];
    for (&kind, body) in KINDS.iter().zip(bodies) {
        let stage = Stage::with(kind, [Answer::raw(200, "application/json", body.to_string())]).await;
        let outcome = stage.ask().await;
        let response = outcome.response();
        assert_eq!(
            (response.message.text().as_str(), &response.stop),
            ("I will not.", &StopReason::Refused),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn cached_tokens_are_found_under_other_names() {
    for (usage, read, written) in [
        (json!({ "prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 4 }), 5, 0),
        (
            json!({ "prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3,
            "prompt_tokens_details": { "cached_tokens": 0 } }),
            4,
            3,
        ),
        (
            json!({ "prompt_tokens": 9, "prompt_tokens_details": { "cached_tokens": 6, "cache_creation_tokens": 2 } }),
            6,
            2,
        ),
        (json!({ "prompt_tokens": 9, "prompt_tokens_details": null }), 0, 0),
    ] {
        let body = json!({ "choices": [{ "message": { "content": "x" }, "finish_reason": "stop" }], "usage": usage });
        let stage = Stage::with(KINDS[2], [Answer::raw(200, "application/json", body.to_string())]).await;
        let usage = stage.ask().await.response().usage;
        assert_eq!((usage.input, usage.cached_read, usage.cached_write), (9, read, written), "{body}");
    }
}
