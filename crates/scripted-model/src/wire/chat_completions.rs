//! Chat Completions: one choice that grows, its usage after it, and a word that says that it is over.

use serde_json::{Value, json};

use super::unnamed;
use crate::answer::{Part, Script, Stop};

pub(super) fn events(script: &Script) -> Vec<Vec<u8>> {
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for part in &script.parts {
        match part {
            Part::Text(text) => {
                events
                    .extend(script.pieces(text).into_iter().map(|piece| delta(json!({ "content": piece }))));
            }
            Part::ToolCall { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": calls, "id": id, "type": "function", "function": function });
                events.push(delta(json!({ "tool_calls": [call] })));
                events.extend(script.pieces(arguments).into_iter().map(|piece| {
                    delta(json!({ "tool_calls": [{ "index": calls, "function": { "arguments": piece } }] }))
                }));
                calls += 1;
            }
            // As DeepSeek, llama.cpp and vLLM write it.
            Part::Reasoning { text, signature } if signature.is_empty() => {
                let pieces = script.pieces(text).into_iter();
                events.extend(pieces.map(|piece| delta(json!({ "reasoning_content": piece }))));
            }
            // As OpenRouter does.
            Part::Reasoning { text, signature } => {
                events.extend(script.pieces(text).into_iter().map(|piece| {
                    let detail = json!({ "type": "reasoning.text", "index": 0, "text": piece });
                    delta(json!({ "reasoning": piece, "reasoning_details": [detail] }))
                }));
                let detail = json!({ "type": "reasoning.text", "index": 0, "signature": signature });
                events.push(delta(json!({ "reasoning_details": [detail] })));
            }
            Part::HiddenReasoning { data } => {
                let detail = json!({ "type": "reasoning.encrypted", "index": 1, "data": data });
                events.push(delta(json!({ "reasoning_details": [detail] })));
            }
        }
    }
    let reason = match script.stop {
        Some(Stop::MaxOutputTokens) => "length",
        Some(Stop::Refused) => "content_filter",
        None if script.has_calls() => "tool_calls",
        None => "stop",
    };
    events.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null));
    let tokens = script.tokens;
    let usage = json!({
        "prompt_tokens": tokens.input, "prompt_tokens_details": { "cached_tokens": tokens.cached_read },
        "completion_tokens": tokens.output, "completion_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": tokens.input + tokens.output });
    events.push(chunk(json!([]), usage));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
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
