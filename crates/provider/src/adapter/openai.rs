//! OpenAI's Responses API, without state on its side.

use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::{
    Adapter, DecodeStep, Decoder, MessagePart, number, outgoing, parse, results, secret_header, text, texts,
};
use crate::chat::assembly::Assembly;
use crate::chat::message::arguments_for_history;
use crate::error::Fault;
use crate::transport::http;
use crate::transport::sse::SseEvent;
use crate::{
    ChatRequest, MessageRole, ModelRules, ProviderKind, ReasoningRules, StopReason, TokenUsage, ToolChoice,
    ToolResult, fault,
};

/// Longest cache key that the API accepts.
const MAX_CACHE_KEY_BYTES: usize = 64;

pub(crate) struct Openai;

impl Adapter for Openai {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, Fault> {
        key.map_or_else(|| Ok(HeaderMap::new()), |key| secret_header(AUTHORIZATION, "Bearer ", key))
    }

    fn body(&self, request: &ChatRequest, rules: &ModelRules) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model));
        body.insert("max_output_tokens".to_owned(), json!(request.max_output_tokens));
        body.insert("stream".to_owned(), json!(true));
        // Nothing is stored at the vendor: the history is ours, and turns may be off the record.
        body.insert("store".to_owned(), json!(false));
        if let Some(key) = &request.cache_key {
            body.insert("prompt_cache_key".to_owned(), json!(cache_key(key)));
        }
        if rules.reasoning != ReasoningRules::Absent {
            // Responses are not stored there, so the reasoning must be returned in order to be sent again.
            body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
            if let Some(effort) = request.reasoning {
                body.insert("reasoning".to_owned(), json!({ "effort": effort.word(), "summary": "auto" }));
            }
        }
        if !request.tools.is_empty() {
            // Strict mode requires every property to be required, which foreign schemas are not.
            let tools = request.tools.iter().map(|tool| {
                json!({ "type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.schema, "strict": false })
            });
            body.insert("tools".to_owned(), tools.collect());
            body.insert("tool_choice".to_owned(), json!(tool_choice(request.tool_choice)));
        }
        let system = request.system.joined();
        if !system.is_empty() {
            body.insert("instructions".to_owned(), Value::String(system));
        }
        body.insert("input".to_owned(), Value::Array(input(request)));
        Value::Object(body)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(OpenaiDecoder::default())
    }
}

pub(super) fn tool_choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
    }
}

/// Returns a cache key that the API accepts: the caller's, or its digest if it is too long.
fn cache_key(key: &str) -> String {
    if key.len() <= MAX_CACHE_KEY_BYTES {
        return key.to_owned();
    }
    protocol::ContentHash::of(key).to_string()
}

fn input(request: &ChatRequest) -> Vec<Value> {
    let mut items = Vec::new();
    for (role, parts) in outgoing(request, ProviderKind::Openai) {
        if role == MessageRole::Assistant {
            items.extend(parts.into_iter().filter_map(assistant_item));
            continue;
        }
        items.extend(results(&parts).map(|result| {
            json!({ "type": "function_call_output", "call_id": result.call_id, "output": result_text(result) })
        }));
        let content: Vec<Value> =
            texts(&parts).map(|text| json!({ "type": "input_text", "text": text })).collect();
        if !content.is_empty() {
            items.push(json!({ "type": "message", "role": "user", "content": content }));
        }
    }
    items
}

fn assistant_item(part: MessagePart<'_>) -> Option<Value> {
    match part {
        MessagePart::Text(text) => {
            // A list of `output_text` parts is only valid with ids and annotations that a text of ours does not have.
            Some(json!({ "type": "message", "role": "assistant", "content": text }))
        }
        MessagePart::Call(call) => {
            Some(json!({ "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": arguments_for_history(call) }))
        }
        MessagePart::Reasoning(value) => Some(value.clone()),
        // Assistant messages contain no results.
        MessagePart::Result(_) => None,
    }
}

/// Joins a result into one text. These APIs have no field for an error; a failed tool explains that in its text.
pub(super) fn result_text(result: &ToolResult) -> String {
    result.blocks.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

/// Decodes one answer. Items are identified by their index in the output.
#[derive(Debug, Default)]
struct OpenaiDecoder {
    refused: bool,
    /// Item and part of the last piece of a summary. Each part is a paragraph.
    summary: Option<(u64, u64)>,
}

impl Decoder for OpenaiDecoder {
    fn event(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<DecodeStep, Fault> {
        // Some servers that imitate this API end with the marker of the older one.
        if event.data == "[DONE]" {
            return Ok(DecodeStep::Continue);
        }
        let value = parse(event)?;
        let index = number(&value, "/output_index").unwrap_or_default();
        let delta = text(&value, "/delta");
        match text(&value, "/type") {
            "response.created" => {
                let model = text(&value, "/response/model");
                assembly.model = Some(model.to_owned()).filter(|model| !model.is_empty());
            }
            "response.output_item.added" => begin(index, &value["item"], assembly)?,
            "response.output_text.delta" => assembly.text(index, delta)?,
            "response.refusal.delta" => {
                self.refused = true;
                assembly.text(index, delta)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.reasoning(index, &value, assembly)?;
            }
            "response.function_call_arguments.delta" => assembly.call_arguments(index, delta)?,
            "response.output_item.done" => self.finish(index, &value["item"], assembly)?,
            "response.completed" | "response.incomplete" => {
                self.complete(&value["response"], assembly);
                return Ok(DecodeStep::Done);
            }
            "response.failed" => return Err(fault::of_event(&value["response"])),
            "error" => return Err(fault::of_event(&value)),
            _ => {}
        }
        Ok(DecodeStep::Continue)
    }

    fn end(&mut self, _assembly: &mut Assembly) -> Result<(), Fault> {
        Err(http::interrupted("the connection was closed"))
    }

    fn whole(&mut self, response: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(items) = response["output"].as_array() else {
            return Err(http::no_answer("another JSON"));
        };
        if text(response, "/status") == "failed" {
            return Err(fault::of_event(response));
        }
        for (index, item) in (0..).zip(items) {
            self.finish(index, item, assembly)?;
        }
        self.complete(response, assembly);
        Ok(())
    }
}

impl OpenaiDecoder {
    fn reasoning(&mut self, index: u64, value: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        let part =
            number(value, "/summary_index").or_else(|| number(value, "/content_index")).unwrap_or_default();
        let before = self.summary.replace((index, part));
        if before.is_some_and(|(item, before)| item == index && before != part) {
            // The API sends no separator between parts of a summary.
            assembly.reasoning(index, "\n\n")?;
        }
        assembly.reasoning(index, text(value, "/delta"))
    }

    fn complete(&self, response: &Value, assembly: &mut Assembly) {
        if assembly.model.is_none() {
            assembly.model = Some(text(response, "/model").to_owned()).filter(|model| !model.is_empty());
        }
        let count = |place: &str| number(response, place).unwrap_or_default();
        assembly.usage = TokenUsage {
            input: count("/usage/input_tokens"),
            output: count("/usage/output_tokens"),
            cached_read: count("/usage/input_tokens_details/cached_tokens"),
            cached_write: count("/usage/input_tokens_details/cache_write_tokens"),
            reasoning: count("/usage/output_tokens_details/reasoning_tokens"),
        };
        assembly.stop = Some(match text(response, "/incomplete_details/reason") {
            "max_output_tokens" => StopReason::MaxOutputTokens,
            "content_filter" => StopReason::Refused,
            // Servers that imitate this API report an answer that they cut as a complete one.
            "" if assembly.is_at_limit() => StopReason::MaxOutputTokens,
            "" if assembly.has_calls() => StopReason::ToolCalls,
            "" if self.refused => StopReason::Refused,
            "" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        });
        assembly.settle_calls();
    }

    /// Completes an item. The event repeats the whole item, so anything that was not streamed is taken from it.
    fn finish(&mut self, index: u64, item: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        match text(item, "/type") {
            "function_call" => {
                if assembly.arguments(index).is_none() {
                    begin(index, item, assembly)?;
                } else if assembly.arguments(index) == Some("") {
                    assembly.call_arguments(index, text(item, "/arguments"))?;
                }
                assembly.call_finished(index)
            }
            "message" if !assembly.has_text(index) => {
                for part in item["content"].as_array().into_iter().flatten() {
                    self.refused |= text(part, "/type") == "refusal";
                    assembly.text(index, text(part, "/text"))?;
                    assembly.text(index, text(part, "/refusal"))?;
                }
                Ok(())
            }
            "reasoning" => {
                if !assembly.has_reasoning(index) {
                    let parts = item["summary"].as_array().into_iter().flatten();
                    let parts: Vec<&str> = parts.map(|part| text(part, "/text")).collect();
                    assembly.reasoning(index, &parts.join("\n\n"))?;
                }
                // Without encrypted content, it only refers to an item that was not stored.
                if text(item, "/encrypted_content").is_empty() {
                    return Ok(());
                }
                assembly.reasoning_value(index, returnable(item))
            }
            _ => Ok(()),
        }
    }
}

fn begin(index: u64, item: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
    match text(item, "/type") {
        "function_call" => {
            assembly.call_started(index, text(item, "/call_id"), text(item, "/name"))?;
            assembly.call_arguments(index, text(item, "/arguments"))
        }
        _ => Ok(()),
    }
}

/// Keeps the fields of a reasoning item that the API accepts as input.
fn returnable(item: &Value) -> Value {
    let fields = ["type", "id", "summary", "content", "encrypted_content"].into_iter().filter_map(|name| {
        let value = item.get(name).filter(|value| !value.is_null())?;
        Some((name.to_owned(), value.clone()))
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_key_is_never_too_long() {
        assert_eq!(cache_key("thread-1"), "thread-1");
        assert_eq!(cache_key(&"x".repeat(65)).len(), MAX_CACHE_KEY_BYTES);
        assert_ne!(cache_key(&"x".repeat(65)), cache_key(&"x".repeat(66)));
    }
}
