//! Deviations of real servers from the API documentation.

use provider::{Block, ChatRequest, ChatResponse, Message, MessageRole, StopReason, ToolResult};
use scripted_model::Answer;
use serde_json::{Value, json};

use crate::stage::{KINDS, Stage};

/// Returns the response to the given events.
async fn answer(kind: usize, events: &[Value]) -> ChatResponse {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let stage = Stage::with(KINDS[kind], [Answer::raw(200, "text/event-stream", body)]).await;
    stage.ask().await.result.unwrap()
}

/// Returns the response to Chat Completions that end without the end marker.
async fn completion(deltas: &[Value], reason: &str) -> ChatResponse {
    let mut events: Vec<Value> =
        deltas.iter().map(|delta| json!({ "choices": [{ "delta": delta }] })).collect();
    events.push(
        json!({ "choices": [{ "delta": {}, "finish_reason": reason }], "usage": { "prompt_tokens": 7 } }),
    );
    answer(2, &events).await
}

fn calls(response: &ChatResponse) -> Vec<(&str, &str, &str)> {
    let calls = response.message.tool_calls();
    calls.map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect()
}

#[tokio::test]
async fn end_marker_may_be_missing() {
    let response = completion(&[json!({ "content": "Hello." })], "stop").await;
    assert_eq!((response.message.text().as_str(), response.stop), ("Hello.", StopReason::EndTurn));
    assert_eq!((response.usage.input, response.model.as_str()), (7, "scripted-model"));
}

#[tokio::test]
async fn stop_reason_may_be_missing() {
    let stage = Stage::with(
        KINDS[2],
        [
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"}}]}\n\ndata: [DONE]\n\n",
            "data: [DONE]\n\n",
        ]
        .map(|body| Answer::raw(200, "text/event-stream", body)),
    )
    .await;
    assert_eq!(stage.ask().await.response().message.text(), "Hello.");
    // The end marker alone is not an answer.
    stage.model.answer(Answer::text("Hello."));
    assert_eq!(stage.ask().await.retries(), 1);
}

#[tokio::test]
async fn calls_may_all_be_numbered_zero() {
    let call = |id: &str, arguments: &str| json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": "f", "arguments": arguments } }] });
    let response = completion(&[call("a", r#"{"n":1}"#), call("b", r#"{"n":2}"#)], "stop").await;
    assert_eq!(calls(&response), [("a", "f", r#"{"n":1}"#), ("b", "f", r#"{"n":2}"#)]);
    // The server reports `stop` but waits for results.
    assert_eq!(response.stop, StopReason::ToolCalls);
}

#[tokio::test]
async fn calls_may_lack_numbers_and_ids() {
    let call = |name: &str, arguments: Value| json!({ "function": { "name": name, "arguments": arguments } });
    let deltas = [
        json!({ "tool_calls": [call("f", json!({ "n": 1 })), call("g", json!("{\"n\""))] }),
        json!({ "tool_calls": [{ "function": { "arguments": ":2}" } }] }),
    ];
    let response = completion(&deltas, "tool_calls").await;
    let calls = calls(&response);
    assert_eq!((calls[0].1, calls[0].2, calls[1].1, calls[1].2), ("f", r#"{"n":1}"#, "g", r#"{"n":2}"#));
    assert!(calls[0].0.starts_with("call_") && calls[0].0 != calls[1].0);
}

#[tokio::test]
async fn names_and_ids_may_be_repeated() {
    let piece = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "f", "arguments": arguments } }] });
    let response = completion(&[piece("{\"n\""), piece(":1}")], "tool_calls").await;
    assert_eq!(calls(&response), [("a", "f", r#"{"n":1}"#)]);
}

#[tokio::test]
async fn nulls_are_ignored() {
    let delta = json!({ "role": null, "content": null, "tool_calls": null, "reasoning": null, "reasoning_details": null });
    let response = completion(&[delta, json!(null), json!({ "content": "x" })], "stop").await;
    assert_eq!(response.message.blocks, [Block::text("x")]);
}

#[tokio::test]
async fn duplicate_reasoning_is_taken_once() {
    let delta = json!({ "reasoning": "Hm.", "reasoning_content": "Hm." });
    let response = completion(&[delta, json!({ "content": "x" })], "stop").await;
    assert!(matches!(&response.message.blocks[0], Block::Reasoning(reasoning) if reasoning.text == "Hm."));
}

#[tokio::test]
async fn call_input_may_come_at_the_beginning() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": { "n": 1 } });
    let response = answer(
        0,
        &[
            json!({ "type": "message_start", "message": { "model": "m" } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": call }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "server_tool_use" } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{" } }),
            json!({ "type": "content_block_stop", "index": 1 }),
            // The final event is missing as well.
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 3 } }),
        ],
    )
    .await;
    assert_eq!(calls(&response), [("a", "f", r#"{"n":1}"#)]);
    assert_eq!((response.stop, response.usage.output), (StopReason::ToolCalls, 3));
}

#[tokio::test]
async fn responses_may_contain_whole_items_only() {
    let call = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"n\":1}" });
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello." }] });
    let response = answer(
        1,
        &[
            json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
            json!({ "type": "response.output_item.done", "output_index": 1, "item": call }),
            json!({ "type": "response.completed", "response": { "model": "m", "usage": { "input_tokens": 1 } } }),
        ],
    )
    .await;
    assert_eq!(response.message.text(), "Hello.");
    assert_eq!(calls(&response), [("a", "f", r#"{"n":1}"#)]);
    assert_eq!(response.model, "m");
}

#[tokio::test]
async fn refusal_is_text_with_a_stop_reason() {
    let response = answer(
        1,
        &[
            json!({ "type": "response.refusal.delta", "output_index": 0, "delta": "I will not." }),
            json!({ "type": "response.completed", "response": {} }),
        ],
    )
    .await;
    assert_eq!((response.message.text().as_str(), response.stop), ("I will not.", StopReason::Refused));
}

#[tokio::test]
async fn encrypted_reasoning_is_sent_back() {
    for &kind in KINDS {
        let thought = Answer::empty().hidden_reasoning("sealed-1").tool_call("a", "f", "{}");
        let stage = Stage::with(kind, [thought, Answer::text("Done.")]).await;
        let provider = stage.provider();
        let mut request = ChatRequest::new("thinker", vec![Message::user("Go.")]);
        request.messages.push(provider.complete(&request).await.unwrap().message);
        request.messages.push(Message::results([ToolResult::new("a", "read")]));
        provider.complete(&request).await.unwrap();
        assert!(stage.model.requests()[1].body.to_string().contains("sealed-1"), "{kind:?}");
    }
}

// APIs reject a message that ends with reasoning, which is what remains if the call after it was cut.
#[tokio::test]
async fn trailing_reasoning_is_not_sent() {
    for &kind in KINDS {
        let thought = Answer::empty().reasoning("Hm.", "signature-1").tool_call("a", "f", "{}");
        let stage = Stage::with(kind, [thought, Answer::text("Done.")]).await;
        let provider = stage.provider();
        let mut request = ChatRequest::new("thinker", vec![Message::user("Go.")]);
        let mut message = provider.complete(&request).await.unwrap().message;
        message.blocks.retain(|block| matches!(block, Block::Reasoning(_)));
        request.messages.push(message);
        request.messages.push(Message { role: MessageRole::Tool, blocks: vec![Block::text("Go on.")] });
        provider.complete(&request).await.unwrap();
        assert!(!stage.model.requests()[1].body.to_string().contains("signature-1"), "{kind:?}");
    }
}

// Anthropic requires results at the beginning of a message.
#[tokio::test]
async fn results_come_before_texts() {
    let stage = Stage::with(KINDS[0], [Answer::text("Done.")]).await;
    let mut results = Message::results([ToolResult::new("a", "read")]);
    results.blocks.insert(0, Block::text("Mind the budget."));
    stage.provider().complete(&ChatRequest::new("m", vec![Message::user("Go."), results])).await.unwrap();
    let body = stage.model.requests().remove(0).body;
    let kinds: Vec<&Value> =
        body["messages"][1]["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(kinds, ["tool_result", "text"]);
}
