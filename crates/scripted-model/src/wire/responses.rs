//! OpenAI's Responses: a list of items, and the whole response again at the end.

use serde_json::{Value, json};

use super::named;
use crate::answer::{Script, ScriptPart, Stop};

pub(super) fn events(script: &Script) -> Vec<Vec<u8>> {
    let mut sequence = 0;
    let mut events = Vec::new();
    let mut push = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(sequence);
        sequence += 1;
        events.push(named(kind, &data));
    };
    let open = json!({ "id": "resp_1", "object": "response", "status": "in_progress", "model": "scripted-model-1",
        "output": [], "usage": null });
    push("response.created", json!({ "response": open }));
    push("response.in_progress", json!({ "response": open }));
    let mut output = Vec::new();
    for (index, part) in script.parts.iter().enumerate() {
        let item = item(index, part);
        push("response.output_item.added", json!({ "output_index": index, "item": begun(&item) }));
        let id = item["id"].clone();
        match part {
            ScriptPart::Text(text) => {
                for piece in script.pieces(text) {
                    let data =
                        json!({ "item_id": id, "output_index": index, "content_index": 0, "delta": piece });
                    push("response.output_text.delta", data);
                }
                let data = json!({ "item_id": id, "output_index": index, "content_index": 0, "text": text });
                push("response.output_text.done", data);
            }
            ScriptPart::ToolCall { arguments, .. } => {
                for piece in script.pieces(arguments) {
                    let data = json!({ "item_id": id, "output_index": index, "delta": piece });
                    push("response.function_call_arguments.delta", data);
                }
                let data = json!({ "item_id": id, "output_index": index, "arguments": arguments });
                push("response.function_call_arguments.done", data);
            }
            ScriptPart::Reasoning { text, .. } => {
                for piece in script.pieces(text) {
                    let data =
                        json!({ "item_id": id, "output_index": index, "summary_index": 0, "delta": piece });
                    push("response.reasoning_summary_text.delta", data);
                }
            }
            ScriptPart::HiddenReasoning { .. } => {}
        }
        push("response.output_item.done", json!({ "output_index": index, "item": item }));
        output.push(item);
    }
    // The last event repeats the whole output, as with the real API. A decoder that adds it to the pieces delivers
    // every text twice.
    let (kind, response) = finished(script, output);
    push(kind, json!({ "response": response }));
    events
}

pub(super) fn whole(script: &Script) -> Value {
    let output = script.parts.iter().enumerate().map(|(index, part)| item(index, part)).collect();
    let (_, mut response) = finished(script, output);
    response["error"] = Value::Null;
    response
}

fn finished(script: &Script, output: Vec<Value>) -> (&'static str, Value) {
    let tokens = script.tokens;
    let usage = json!({
        "input_tokens": tokens.input, "input_tokens_details": { "cached_tokens": tokens.cached_read },
        "output_tokens": tokens.output, "output_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": tokens.input + tokens.output });
    let (kind, status, details) = match script.stop {
        Some(Stop::MaxOutputTokens) => {
            ("response.incomplete", "incomplete", json!({ "reason": "max_output_tokens" }))
        }
        Some(Stop::Refused) => ("response.incomplete", "incomplete", json!({ "reason": "content_filter" })),
        None => ("response.completed", "completed", Value::Null),
    };
    let response = json!({ "id": "resp_1", "object": "response", "status": status, "model": "scripted-model-1",
        "incomplete_details": details, "output": output, "usage": usage });
    (kind, response)
}

fn item(index: usize, part: &ScriptPart) -> Value {
    match part {
        ScriptPart::Text(text) => {
            json!({ "type": "message", "id": format!("msg_{index}"), "role": "assistant",
            "status": "completed", "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
        }
        ScriptPart::ToolCall { id, name, arguments } => {
            json!({ "type": "function_call", "id": format!("fc_{index}"),
            "status": "completed", "call_id": id, "name": name, "arguments": arguments })
        }
        ScriptPart::Reasoning { text, signature } => {
            json!({ "type": "reasoning", "id": format!("rs_{index}"),
            "summary": [{ "type": "summary_text", "text": text }], "encrypted_content": signature, "status": null })
        }
        ScriptPart::HiddenReasoning { data } => json!({ "type": "reasoning", "id": format!("rs_{index}"),
            "summary": [], "encrypted_content": data, "status": null }),
    }
}

/// Returns an item in its initial state.
fn begun(item: &Value) -> Value {
    let mut item = item.clone();
    for (field, empty) in [
        ("content", json!([])),
        ("arguments", json!("")),
        ("summary", json!([])),
        ("status", json!("in_progress")),
    ] {
        if item.get(field).is_some() {
            item[field] = empty;
        }
    }
    item
}
