//! Reasoning arrives, is kept with its proof, and is sent back to the same model.

use provider::{Block, ChatEvent, ChatRequest, Message, ProviderKind, ToolResult};
use scripted_model::Answer;
use serde_json::{Value, json};

use crate::stage::{KINDS, Stage, outcome};

/// Returns the messages of a request body.
fn messages(body: &Value) -> &Value {
    body.get("messages").or_else(|| body.get("input")).unwrap()
}

/// Removes cache marks, which move from request to request.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            kept.map(|(name, value)| (name.clone(), without_marks(value))).collect()
        }
        Value::Array(list) => list.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

fn thinking() -> Answer {
    Answer::empty()
        .reasoning("Think, then read.", "signature-1")
        .hidden_reasoning("sealed-1")
        .and_text("Reading.")
        .tool_call("call_1", "f", "{}")
        .in_deltas(3)
}

#[tokio::test]
async fn reasoning_is_sent_back_in_later_turns() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [thinking(), Answer::text("Done."), Answer::text("Again.")]).await;
        let provider = stage.provider();
        let mut request = ChatRequest::new("thinker", vec![Message::user("Go.")]);
        let first = outcome(&provider, &request).await;
        let shown: String = first.events.iter().filter_map(reasoning_delta).collect();
        assert_eq!(shown, "Think, then read.", "{kind:?}");

        // The history is stored as JSON between rounds.
        let kept = serde_json::to_string(&first.response().message).unwrap();
        request.messages.push(serde_json::from_str(&kept).unwrap());
        request.messages.push(Message::results([ToolResult::new("call_1", "read")]));
        request.messages.push(provider.complete(&request).await.unwrap().message);
        request.messages.push(Message::user("And now?"));
        provider.complete(&request).await.unwrap();

        let sent: Vec<Value> = stage.model.requests().into_iter().map(|request| request.body).collect();
        let within = without_marks(messages(&sent[1]));
        for proof in ["signature-1", "sealed-1"] {
            assert!(within.to_string().contains(proof), "{kind:?} {within}");
        }
        let within = within.as_array().unwrap();
        let after = without_marks(messages(&sent[2]));
        assert_eq!(within[..], after.as_array().unwrap()[..within.len()], "{kind:?}");
    }
}

fn reasoning_delta(event: &ChatEvent) -> Option<&str> {
    match event {
        ChatEvent::ReasoningDelta { text } => Some(text),
        _ => None,
    }
}

#[tokio::test]
async fn reasoning_is_sent_back_unchanged() {
    let expected = [
        json!([
            { "type": "thinking", "thinking": "Think, then read.", "signature": "signature-1" },
            { "type": "redacted_thinking", "data": "sealed-1" },
        ]),
        json!([
            { "type": "reasoning", "id": "rs_0", "encrypted_content": "signature-1",
              "summary": [{ "type": "summary_text", "text": "Think, then read." }] },
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed-1" },
        ]),
        json!([{
            "reasoning": "Think, then read.",
            "reasoning_details": [
                { "type": "reasoning.text", "index": 0, "text": "Think, then read.", "signature": "signature-1" },
                { "type": "reasoning.encrypted", "index": 1, "data": "sealed-1" },
            ],
        }]),
    ];
    for (&kind, expected) in KINDS.iter().zip(expected) {
        let stage = Stage::with(kind, [thinking()]).await;
        let outcome = stage.ask().await;
        let values = outcome.response().message.blocks.iter().filter_map(|block| match block {
            Block::Reasoning(reasoning) => Some(reasoning.value.clone()),
            _ => None,
        });
        assert_eq!(values.collect::<Value>(), expected, "{kind:?}");
    }
}

#[tokio::test]
async fn plain_reasoning_keeps_its_field_name() {
    let (kind, wire) = KINDS[2];
    let answer = Answer::empty().reasoning("Hm.", "").tool_call("call_1", "f", "{}");
    let stage = Stage::with((kind, wire), [answer, Answer::text("Done.")]).await;
    let provider = stage.provider();
    let mut request = ChatRequest::new("thinker", vec![Message::user("Go.")]);
    request.messages.push(provider.complete(&request).await.unwrap().message);
    request.messages.push(Message::results([ToolResult::new("call_1", "read")]));
    provider.complete(&request).await.unwrap();
    assert_eq!(stage.model.requests()[1].body["messages"][1]["reasoning_content"], "Hm.");
}

#[tokio::test]
async fn reasoning_is_not_sent_to_other_models() {
    let stage = Stage::with(KINDS[0], [thinking()]).await;
    let message = outcome(&stage.provider(), &ChatRequest::new("thinker", vec![Message::user("Go.")])).await;
    let history = vec![
        Message::user("Go."),
        message.response().message.clone(),
        Message::results([ToolResult::new("call_1", "read")]),
    ];
    for (&kind, model) in KINDS.iter().zip(["another", "thinker", "thinker"]) {
        let stage = Stage::with(kind, [Answer::text("Done.")]).await;
        stage.provider().complete(&ChatRequest::new(model, history.clone())).await.unwrap();
        let sent = stage.model.requests()[0].body.to_string();
        assert!(!sent.contains("signature-1") && !sent.contains("sealed-1"), "{kind:?}");
    }
}

#[tokio::test]
async fn cut_reasoning_is_kept_but_not_sent_back() {
    for &kind in KINDS {
        let stage = Stage::with(kind, [thinking().cut_after_events(5), Answer::text("Done.")]).await;
        let outcome = stage.ask().await;
        let partial = outcome.error().partial.clone().unwrap().message;
        assert!(
            matches!(&partial.blocks[0], Block::Reasoning(reasoning) if reasoning.text.starts_with("Think"))
        );
        let mut request = ChatRequest::new("scripted-model", vec![Message::user("Go."), partial]);
        request
            .messages
            .push(Message { role: provider::MessageRole::Tool, blocks: vec![Block::text("Go on.")] });
        stage.provider().complete(&request).await.unwrap();
        let sent = stage.model.requests()[1].body.to_string();
        assert!(!sent.contains("Think") || kind.0 == ProviderKind::OpenaiCompatible, "{kind:?} {sent}");
    }
}
