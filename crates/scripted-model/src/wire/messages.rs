//! Anthropic's Messages: a list of blocks with start, deltas and end.

use serde_json::{Value, json};

use super::named;
use crate::answer::{Script, ScriptPart, Stop};

pub(super) fn events(script: &Script) -> Vec<Vec<u8>> {
    let tokens = script.tokens;
    let uncached = tokens.input.saturating_sub(tokens.cached_read + tokens.cached_write);
    let usage = json!({ "input_tokens": uncached, "cache_creation_input_tokens": tokens.cached_write,
        "cache_read_input_tokens": tokens.cached_read, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-model-1",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage });
    let mut events = vec![event(json!({ "type": "message_start", "message": message }))];
    // The real API sends pings between other events, and a decoder must ignore them.
    events.push(event(json!({ "type": "ping" })));
    for (index, part) in script.parts.iter().enumerate() {
        let (start, deltas) = block(script, part);
        events.push(event(json!({ "type": "content_block_start", "index": index, "content_block": start })));
        for delta in deltas {
            events.push(event(json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        events.push(event(json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": stop_reason(script), "stop_sequence": null });
    let usage = json!({ "output_tokens": tokens.output,
        "output_tokens_details": { "thinking_tokens": tokens.reasoning } });
    events.push(event(json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    events.push(event(json!({ "type": "message_stop" })));
    events
}

pub(super) fn whole(script: &Script) -> Value {
    let tokens = script.tokens;
    let uncached = tokens.input.saturating_sub(tokens.cached_read + tokens.cached_write);
    let usage = json!({ "input_tokens": uncached, "cache_creation_input_tokens": tokens.cached_write,
        "cache_read_input_tokens": tokens.cached_read, "output_tokens": tokens.output,
        "output_tokens_details": { "thinking_tokens": tokens.reasoning } });
    let content: Vec<Value> = script.parts.iter().map(whole_block).collect();
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-model-1",
        "content": content, "stop_reason": stop_reason(script), "stop_sequence": null, "usage": usage })
}

fn whole_block(part: &ScriptPart) -> Value {
    match part {
        ScriptPart::Text(text) => json!({ "type": "text", "text": text }),
        ScriptPart::ToolCall { id, name, arguments } => {
            // The API cannot represent arguments that are not an object.
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        ScriptPart::Reasoning { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        ScriptPart::HiddenReasoning { data } => json!({ "type": "redacted_thinking", "data": data }),
    }
}

fn stop_reason(script: &Script) -> &'static str {
    match script.stop {
        Some(Stop::MaxOutputTokens) => "max_tokens",
        Some(Stop::Refused) => "refusal",
        None if script.has_calls() => "tool_use",
        None => "end_turn",
    }
}

/// Returns the start and the deltas of a block.
fn block(script: &Script, part: &ScriptPart) -> (Value, Vec<Value>) {
    match part {
        ScriptPart::Text(text) => {
            let deltas =
                script.pieces(text).into_iter().map(|text| json!({ "type": "text_delta", "text": text }));
            (json!({ "type": "text", "text": "" }), deltas.collect())
        }
        ScriptPart::ToolCall { id, name, arguments } => {
            // The real API begins with an empty piece, which must not count as arguments.
            let pieces = [""].into_iter().chain(script.pieces(arguments));
            let deltas = pieces.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
            (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas.collect())
        }
        ScriptPart::Reasoning { text, signature } => {
            let pieces = script.pieces(text).into_iter();
            let deltas = pieces.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
            let signature = json!({ "type": "signature_delta", "signature": signature });
            (
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                deltas.chain([signature]).collect(),
            )
        }
        ScriptPart::HiddenReasoning { data } => {
            (json!({ "type": "redacted_thinking", "data": data }), Vec::new())
        }
    }
}

fn event(data: Value) -> Vec<u8> {
    named(data["type"].as_str().unwrap_or_default(), &data)
}
