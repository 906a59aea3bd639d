//! Chat Completions: one choice that grows, then its usage, then an end marker.

use serde_json::{Value, json};

use super::unnamed;
use crate::answer::{Script, ScriptPart, Stop};

pub(super) fn events(script: &Script) -> Vec<Vec<u8>> {
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for part in &script.parts {
        match part {
            ScriptPart::Text(text) => {
                events
                    .extend(script.pieces(text).into_iter().map(|piece| delta(json!({ "content": piece }))));
            }
            ScriptPart::ToolCall { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": calls, "id": id, "type": "function", "function": function });
                events.push(delta(json!({ "tool_calls": [call] })));
                events.extend(script.pieces(arguments).into_iter().map(|piece| {
                    delta(json!({ "tool_calls": [{ "index": calls, "function": { "arguments": piece } }] }))
                }));
                calls += 1;
            }
            // Format of DeepSeek, llama.cpp and vLLM.
            ScriptPart::Reasoning { text, signature } if signature.is_empty() => {
                let pieces = script.pieces(text).into_iter();
                events.extend(pieces.map(|piece| delta(json!({ "reasoning_content": piece }))));
            }
            // Format of OpenRouter.
            ScriptPart::Reasoning { text, signature } => {
                events.extend(script.pieces(text).into_iter().map(|piece| {
                    let detail = json!({ "type": "reasoning.text", "index": 0, "text": piece });
                    delta(json!({ "reasoning": piece, "reasoning_details": [detail] }))
                }));
                let detail = json!({ "type": "reasoning.text", "index": 0, "signature": signature });
                events.push(delta(json!({ "reasoning_details": [detail] })));
            }
            ScriptPart::HiddenReasoning { data } => {
                let detail = json!({ "type": "reasoning.encrypted", "index": 1, "data": data });
                events.push(delta(json!({ "reasoning_details": [detail] })));
            }
        }
    }
    let last = json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(script) }]);
    events.push(chunk(last, Value::Null));
    // The chunk with the usage has no choice at all, as with the real API when `include_usage` is set. A decoder that
    // takes the first choice for granted fails here.
    events.push(chunk(json!([]), usage(script)));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

pub(super) fn whole(script: &Script) -> Value {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut thought = String::new();
    let mut details = Vec::new();
    for part in &script.parts {
        match part {
            ScriptPart::Text(more) => text.push_str(more),
            ScriptPart::ToolCall { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
            ScriptPart::Reasoning { text, signature } => {
                thought.push_str(text);
                if !signature.is_empty() {
                    details.push(
                        json!({ "type": "reasoning.text", "index": 0, "text": text, "signature": signature }),
                    );
                }
            }
            ScriptPart::HiddenReasoning { data } => {
                details.push(json!({ "type": "reasoning.encrypted", "index": 1, "data": data }));
            }
        }
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    for (name, value) in [
        ("tool_calls", json!(calls)),
        ("reasoning_content", json!(thought)),
        ("reasoning_details", json!(details)),
    ] {
        if value != json!([]) && value != json!("") {
            message[name] = value;
        }
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted-model-1",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(script) }],
        "usage": usage(script) })
}

fn finish_reason(script: &Script) -> &'static str {
    match script.stop {
        Some(Stop::MaxOutputTokens) => "length",
        Some(Stop::Refused) => "content_filter",
        None if script.has_calls() => "tool_calls",
        None => "stop",
    }
}

fn usage(script: &Script) -> Value {
    let tokens = script.tokens;
    json!({
        "prompt_tokens": tokens.input, "prompt_tokens_details": { "cached_tokens": tokens.cached_read },
        "completion_tokens": tokens.output, "completion_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": tokens.input + tokens.output })
}

fn delta(delta: Value) -> Vec<u8> {
    chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null)
}

fn chunk(choices: Value, usage: Value) -> Vec<u8> {
    unnamed(
        &json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-model-1",
        "choices": choices, "usage": usage }),
    )
}
