//! Interrupted and malformed answers.

use std::time::Duration;

use protocol::Hint as _;
use provider::{ChatRequest, ErrorKind, Provider, ProviderConfig, ResponseLimits};
use scripted_model::Answer;

use crate::stage::{KINDS, Outcome, Stage, hello, outcome};

/// Sends a request with a modified configuration.
async fn ask_with(stage: &Stage, change: impl FnOnce(&mut ProviderConfig)) -> Outcome {
    let mut config = stage.config();
    change(&mut config);
    outcome(&Provider::new(config).unwrap(), &hello()).await
}

#[tokio::test]
async fn interrupted_stream_keeps_what_arrived() {
    for &kind in KINDS {
        let answer = Answer::text("Hello, world.").in_deltas(2);
        // Number of events up to the first of two pieces; it differs between APIs.
        let events = [4, 4, 2][KINDS.iter().position(|other| *other == kind).unwrap()];
        for answer in
            [answer.clone().cut_after_events(events), answer.clone().cut_after_events(events).in_pieces_of(7)]
        {
            let stage = Stage::with(kind, [answer]).await;
            let outcome = stage.ask().await;
            let error = outcome.error();
            assert_eq!((error.kind, error.retryable), (ErrorKind::Interrupted, true), "{kind:?} {error}");
            assert!(error.message.starts_with("the answer broke off in the middle: "), "{error}");
            assert_eq!(error.partial.as_ref().unwrap().message.text(), "Hello,", "{kind:?}");
            // A retry would deliver the beginning twice.
            assert_eq!((outcome.texts(), stage.model.requests().len()), (vec!["Hello,"], 1));
        }
    }
}

#[tokio::test]
async fn stream_without_an_end_is_an_error() {
    for &kind in KINDS {
        let whole = Stage::with(kind, [Answer::text("Hello.")]).await;
        whole.ask().await.response();
        // The HTTP body ends properly, only the answer does not.
        for body in ["", "data: {}\n\n", "data: {\"type\":\"ping\"}\n\ndata: {\"type\":\"mess"] {
            let answer = || Answer::raw(200, "text/event-stream", body);
            let stage = Stage::with(kind, [answer(), answer(), answer()]).await;
            let outcome = stage.ask().await;
            assert_eq!(outcome.error().kind, ErrorKind::Interrupted, "{kind:?} {body}");
            assert_eq!(outcome.retries(), 2, "nothing was delivered");
        }
    }
}

#[tokio::test]
async fn cut_call_is_shown_but_never_run() {
    for &kind in KINDS {
        let complete =
            Answer::empty().tool_call("call_1", "f", "{}").tool_call("call_2", "g", r#"{"path":"a.rs"}"#);
        let complete = complete.in_deltas(4);
        // Cuts inside the second call's arguments, wherever they are in this API.
        let events = [12, 13, 6][KINDS.iter().position(|other| *other == kind).unwrap()];
        let stage = Stage::with(kind, [complete.cut_after_events(events)]).await;
        let outcome = stage.ask().await;
        let partial = outcome.error().partial.clone().unwrap();
        let unfinished: Vec<&str> = partial.unfinished_calls.iter().map(|call| call.id.as_str()).collect();
        assert!(unfinished.contains(&"call_2"), "{kind:?} {partial:?}");
        assert!(partial.message.tool_calls().all(|call| call.id == "call_1"), "{kind:?}");
    }
}

#[tokio::test]
async fn missing_answer_times_out() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::silence()]).await;
        let outcome =
            ask_with(&stage, |config| config.timeouts.first_byte = Duration::from_millis(100)).await;
        let error = outcome.error();
        assert_eq!((error.kind, error.retryable), (ErrorKind::Timeout, true), "{kind:?}");
        assert_eq!(error.message, "the provider did not answer for 100ms");
        assert_eq!(stage.model.requests().len(), 1);

        // Headers alone do not count as an answer.
        let stage = Stage::with(kind, [Answer::text("Hello.").stall_after_bytes(0)]).await;
        let outcome =
            ask_with(&stage, |config| config.timeouts.first_byte = Duration::from_millis(100)).await;
        assert_eq!(outcome.error().kind, ErrorKind::Timeout);
    }
}

#[tokio::test]
async fn stalled_answer_times_out() {
    for &kind in KINDS {
        let stage =
            Stage::with(kind, [Answer::text("Hello, world.").in_deltas(2).stall_after_events(4)]).await;
        let outcome = ask_with(&stage, |config| config.timeouts.idle = Duration::from_millis(500)).await;
        let error = outcome.error();
        assert_eq!((error.kind, error.retryable), (ErrorKind::Timeout, true), "{kind:?}");
        assert_eq!(error.message, "the answer stopped in the middle for 500ms");
        assert!(error.partial.as_ref().unwrap().message.text().starts_with("Hello,"));
    }
}

#[tokio::test]
async fn slow_answer_is_not_stalled() {
    let answer = Answer::text("Hello, world.").in_deltas(10).drip(Duration::from_millis(100));
    let stage = Stage::with(KINDS[0], [answer]).await;
    // The whole answer takes longer than the time limit, but no single pause does.
    let outcome = ask_with(&stage, |config| config.timeouts.idle = Duration::from_secs(1)).await;
    assert_eq!(outcome.response().message.text(), "Hello, world.");
}

#[tokio::test]
async fn malformed_event_ends_the_round_and_keeps_the_rest() {
    for &kind in KINDS {
        for (garbage, expected) in [
            (&b"data: {\"type\": \n\n"[..], "an event of the answer is not JSON: "),
            (b"data: hello\n\n", "an event of the answer is not JSON: "),
            (b"data: {\"type\":\"\xff\xfe\"}\n\n", "the answer contains bytes that are not UTF-8"),
        ] {
            let stage =
                Stage::with(kind, [Answer::text("Hello, world.").in_deltas(2).insert(4, garbage)]).await;
            let outcome = stage.ask().await;
            let error = outcome.error();
            assert_eq!((error.kind, error.retryable), (ErrorKind::Malformed, true), "{kind:?} {error}");
            assert!(error.message.starts_with(expected), "{error}");
            assert!(error.partial.as_ref().unwrap().message.text().starts_with("Hello,"), "{kind:?}");
            assert_eq!(stage.model.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn events_and_answers_are_bounded() {
    for &kind in KINDS {
        let endless = Answer::text("Hello.").insert(1, vec![b'x'; 20_000]);
        let stage = Stage::with(kind, [endless, Answer::text(&"x".repeat(30_000)).in_deltas(3)]).await;
        let limits = ResponseLimits { event_bytes: 15_000, response_bytes: 29_000 };
        let outcome = ask_with(&stage, |config| config.limits = limits).await;
        assert_eq!(outcome.error().message, "an event of the answer is longer than 15000 bytes", "{kind:?}");
        let outcome = ask_with(&stage, |config| config.limits = limits).await;
        assert_eq!(outcome.error().message, "the answer is longer than 29000 bytes");
        assert_eq!(outcome.error().partial.as_ref().unwrap().message.text().len(), 20_000);
    }
}

// The provider ignores the requested number of tokens and never stops.
#[tokio::test]
async fn endless_answer_is_ended() {
    for &kind in KINDS {
        let long = |bytes: usize| Answer::text(&"x".repeat(bytes)).in_deltas(64);
        let stage = Stage::with(kind, [long(6 << 20), long(1 << 20)]).await;
        let provider = Provider::new(stage.config()).unwrap();
        let request = ChatRequest { max_output_tokens: 1_000, ..hello() };
        let ended = outcome(&provider, &request).await;
        let error = ended.error();
        let expected = "the answer continues far beyond the 1000 tokens that were requested";
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Malformed, expected), "{kind:?}");
        let kept = error.partial.as_ref().unwrap().message.text().len();
        assert!((3 << 20..=4 << 20).contains(&kept), "{kept}");
        // Some servers do not know the limit and write somewhat more, which is accepted.
        let whole = outcome(&provider, &request).await;
        assert_eq!(whole.response().message.text().len(), 1 << 20);
    }
}

#[tokio::test]
async fn other_content_is_rejected() {
    for &kind in KINDS {
        for content_type in ["text/html; charset=utf-8", "application/json"] {
            let stage = Stage::with(kind, [Answer::raw(200, content_type, "<html>")]).await;
            let error = stage.ask().await.result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed);
            assert!(error.with_hint().contains("not a stream of events\nhint: is the base URL"), "{error}");
        }
    }
}

#[tokio::test]
async fn errors_inside_an_answer_are_classified() {
    let cases = [
        (
            0,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Overloaded,
        ),
        (1, r#"{"type":"error","code":"server_error","message":"Sorry"}"#, ErrorKind::Server),
        (
            1,
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Too long"}}}"#,
            ErrorKind::ContextTooLong,
        ),
        (
            1,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Wait"}}}"#,
            ErrorKind::RateLimited,
        ),
        (2, r#"{"error":{"code":502,"message":"Upstream failed"},"choices":[]}"#, ErrorKind::Server),
        (
            2,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens"}}"#,
            ErrorKind::ContextTooLong,
        ),
    ];
    for (kind, event, expected) in cases {
        let event = format!("data: {event}\n\n");
        // In the middle of an answer, only the caller can decide about a retry.
        let answer = Answer::text("Hello, world.").in_deltas(2).insert(4, event.clone());
        let stage = Stage::with(KINDS[kind], [answer]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.error().kind, expected, "{event}");
        assert!(outcome.error().partial.is_some());
        // Before anything was delivered, it is treated like an error status.
        let stage =
            Stage::with(KINDS[kind], [Answer::text("x").insert(1, event.clone()), Answer::text("Hello.")])
                .await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.result.is_ok(), expected != ErrorKind::ContextTooLong, "{event}");
    }
}

#[tokio::test]
async fn number_of_blocks_is_limited() {
    let begun =
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\n";
    let stage = Stage::with(KINDS[0], [Answer::raw(200, "text/event-stream", begun.repeat(5_000))]).await;
    let outcome = stage.ask().await;
    assert_eq!(outcome.error().message, "the answer has more than 4096 blocks");
}
