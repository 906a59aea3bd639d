//! Successful answers.

use std::time::Duration;

use provider::{Block, ChatEvent, StopReason, TokenUsage, ToolCall};
use scripted_model::{Answer, Stop, Tokens};

use crate::stage::{KINDS, Stage, hello};

#[tokio::test]
async fn text_arrives_in_pieces_and_as_a_whole() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::text("Grüße, Welt!").in_deltas(3)]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.texts(), ["Grüß", "e, W", "elt!"], "{kind:?}");
        let response = outcome.response();
        assert_eq!(response.message.text(), "Grüße, Welt!");
        assert_eq!((&response.stop, response.model.as_str()), (&StopReason::EndTurn, "scripted-model-1"));
    }
}

#[tokio::test]
async fn bytes_may_be_split_anywhere() {
    for &kind in KINDS {
        let answer = Answer::text("Grüße 👋").tool_call("call_1", "f", r#"{"ä":"ö"}"#).in_deltas(2);
        let stage = Stage::with(kind, [answer.in_pieces_of(1)]).await;
        let outcome = stage.ask().await;
        assert_eq!(outcome.response().message.text(), "Grüße 👋", "{kind:?}");
        assert_eq!(outcome.response().message.tool_calls().count(), 1);
    }
}

#[tokio::test]
async fn parallel_calls_stay_separate_and_ordered() {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
    };
    let first = call("call_a", r#"{"path":"a.rs"}"#);
    let second = call("call_b", r#"{"path":"b.rs"}"#);
    for &kind in KINDS {
        let answer = Answer::text("Reading.").tool_call(&first.id, &first.name, &first.arguments).tool_call(
            &second.id,
            &second.name,
            &second.arguments,
        );
        let stage = Stage::with(kind, [answer.in_deltas(4)]).await;
        let outcome = stage.ask().await;
        let response = outcome.response();
        assert_eq!(response.stop, StopReason::ToolCalls, "{kind:?}");
        let blocks =
            [Block::text("Reading."), Block::ToolCall(first.clone()), Block::ToolCall(second.clone())];
        assert_eq!(response.message.blocks, blocks, "{kind:?}");
        assert_eq!(first.input().unwrap()["path"], "a.rs");

        let mut arguments = std::collections::BTreeMap::<&str, String>::new();
        let mut finished = Vec::new();
        for event in &outcome.events {
            match event {
                ChatEvent::ToolCallStarted { id, .. } => drop(arguments.insert(id, String::new())),
                ChatEvent::ToolCallDelta { id, arguments: more } => {
                    arguments.get_mut(id.as_str()).unwrap().push_str(more);
                }
                ChatEvent::ToolCallFinished { call } => finished.push(call.clone()),
                _ => {}
            }
        }
        assert_eq!(finished, [first.clone(), second.clone()], "{kind:?}");
        assert_eq!(arguments["call_b"], second.arguments);
    }
}

#[tokio::test]
async fn malformed_arguments_are_kept_and_flagged() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::empty().tool_call("call_1", "f", r#"{"path": "a"#)]).await;
        let outcome = stage.ask().await;
        let call = outcome.response().message.tool_calls().next().unwrap().clone();
        assert_eq!(call.arguments, r#"{"path": "a"#, "{kind:?}");
        assert!(call.input().unwrap_err().to_string().contains("`call_1` to `f` are not a JSON object: EOF"));
    }
}

#[tokio::test]
async fn usage_is_normalised() {
    let tokens = Tokens { input: 1000, output: 50, cached_read: 800, cached_write: 0, reasoning: 30 };
    let expected = TokenUsage { input: 1000, output: 50, cached_read: 800, cached_write: 0, reasoning: 30 };
    for &kind in KINDS {
        let answer = Answer::text("x").tokens(tokens);
        let stage = Stage::with(kind, [answer.clone(), answer.whole()]).await;
        assert_eq!(stage.ask().await.response().usage, expected, "{kind:?}");
        assert_eq!(stage.ask().await.response().usage, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn cache_writes_count_as_input() {
    let tokens = Tokens { input: 1000, output: 50, cached_read: 500, cached_write: 300, reasoning: 0 };
    let stage = Stage::with(KINDS[0], [Answer::text("x").tokens(tokens)]).await;
    let usage = stage.ask().await.response().usage;
    assert_eq!((usage.input, usage.cached_read, usage.cached_write), (1000, 500, 300));
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    for &kind in KINDS {
        for (stop, expected) in
            [(Stop::MaxOutputTokens, StopReason::MaxOutputTokens), (Stop::Refused, StopReason::Refused)]
        {
            let stage = Stage::with(kind, [Answer::text("x").stop(stop)]).await;
            assert_eq!(stage.ask().await.response().stop, expected, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn unknown_events_are_ignored() {
    let unknown = "event: news\ndata: {\"type\":\"news\",\"index\":9,\"object\":\"news\"}\n\n: comment\n\n";
    for &kind in KINDS {
        let stage = Stage::with(kind, [Answer::text("Hello.").insert(2, unknown).insert(1, unknown)]).await;
        assert_eq!(stage.ask().await.response().message.text(), "Hello.", "{kind:?}");
    }
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    use futures_util::StreamExt as _;
    for &kind in KINDS {
        let answers = [Answer::text("Hello, world.").in_deltas(5).stall_after_events(4), Answer::silence()];
        let stage = Stage::with(kind, answers).await;
        let mut stream = stage.provider().chat(&hello());
        let mut event = stream.next().await;
        if kind.0 == provider::ProviderKind::Anthropic {
            // The only API that reports the input before the answer, which a caller pays for even if it stops now.
            assert!(matches!(event, Some(Ok(ChatEvent::Usage(usage))) if usage.input == 100), "{event:?}");
            event = stream.next().await;
        }
        assert!(matches!(event, Some(Ok(ChatEvent::TextDelta { .. }))), "{kind:?}");
        drop(stream);
        abandoned(&stage, 1).await;

        let provider = stage.provider();
        let request = hello();
        tokio::select! {
            result = provider.complete(&request) => unreachable!("{result:?}"),
            () = until(|| stage.model.requests().len() == 2) => {}
        }
        abandoned(&stage, 2).await;
    }
}

/// Waits until the server has noticed the closed connection.
async fn abandoned(stage: &Stage, count: usize) {
    until(|| stage.model.abandoned() == count).await;
}

async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
}
