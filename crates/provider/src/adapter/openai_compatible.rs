//! Chat Completions as Ollama, vLLM, llama.cpp, OpenRouter and many others implement it.
//!
//! Only fields that all of them accept are sent; deviations in their answers are tolerated.

use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::openai::{Openai, result_text, tool_choice};
use super::{Adapter, DecodeStep, Decoder, MessagePart, number, outgoing, parse, results, text, texts};
use crate::chat::assembly::Assembly;
use crate::chat::message::arguments_for_history;
use crate::error::Fault;
use crate::transport::http;
use crate::transport::sse::SseEvent;
use crate::{ChatRequest, MessageRole, ModelRules, ProviderKind, StopReason, TokenUsage, fault};

pub(crate) struct OpenaiCompatible;

impl Adapter for OpenaiCompatible {
    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, Fault> {
        Openai.headers(key)
    }

    fn body(&self, request: &ChatRequest, _rules: &ModelRules) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model));
        body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
        body.insert("stream".to_owned(), json!(true));
        // Without this option, servers omit the usage from streamed answers.
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        if let Some(effort) = request.reasoning {
            body.insert("reasoning_effort".to_owned(), json!(effort.word()));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                let function =
                    json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
                json!({ "type": "function", "function": function })
            });
            body.insert("tools".to_owned(), tools.collect());
            body.insert("tool_choice".to_owned(), json!(tool_choice(request.tool_choice)));
        }
        body.insert("messages".to_owned(), Value::Array(messages(request)));
        Value::Object(body)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(CompatibleDecoder::default())
    }
}

fn messages(request: &ChatRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    let system = request.system.joined();
    if !system.is_empty() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for (role, parts) in outgoing(request, ProviderKind::OpenaiCompatible) {
        if role == MessageRole::Assistant {
            messages.push(assistant(&parts));
            continue;
        }
        messages.extend(results(&parts).map(|result| {
            json!({ "role": "tool", "tool_call_id": result.call_id, "content": result_text(result) })
        }));
        // Chat templates of local models often accept only plain text, not a list of parts.
        let text = texts(&parts).collect::<Vec<_>>().join("\n\n");
        if text.is_empty() {
            continue;
        }
        match messages.last_mut().filter(|last| last["role"] == "tool") {
            // Templates that require alternating roles ignore results, so a message of the user after them would follow
            // the user's question.
            Some(result) => {
                result["content"] = Value::String(format!("{}\n\n{text}", super::text(result, "/content")))
            }
            None => messages.push(json!({ "role": "user", "content": text })),
        }
    }
    messages
}

fn assistant(parts: &[MessagePart<'_>]) -> Value {
    let text = texts(parts).collect::<String>();
    let content = if text.is_empty() { Value::Null } else { Value::String(text) };
    let mut fields =
        Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), content)]);
    let mut calls = Vec::new();
    for part in parts {
        match part {
            MessagePart::Call(call) => {
                let function = json!({ "name": call.name, "arguments": arguments_for_history(call) });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
            }
            // Servers expect reasoning under the names under which they sent it.
            MessagePart::Reasoning(Value::Object(value)) => fields.extend(value.clone()),
            _ => {}
        }
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(fields)
}

/// Number of the text block; calls are numbered after it.
const TEXT: u64 = 0;
const REASONING: u64 = 1;
const FIRST_CALL: u64 = 2;

/// Field names of reasoning.
const REASONING_FIELDS: &[&str] = &["reasoning_content", "reasoning"];

#[derive(Debug, Default)]
struct CompatibleDecoder {
    /// Calls so far, with the server's number and id of each.
    calls: Vec<(Option<u64>, String)>,
    reasoning: Option<&'static str>,
    details: Vec<Value>,
    refused: bool,
    finished: bool,
}

impl Decoder for CompatibleDecoder {
    fn event(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<DecodeStep, Fault> {
        if event.data.trim() == "[DONE]" {
            // The end marker without a stop reason is accepted, but not if there was no content at all.
            self.finished |= !assembly.is_empty();
            return self.end(assembly).map(|()| DecodeStep::Done);
        }
        let value = parse(event)?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault::of_event(&value));
        }
        self.take(&value, "delta", assembly)?;
        Ok(DecodeStep::Continue)
    }

    /// Accepts a closed connection after the stop reason, because some servers omit the end marker.
    fn end(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        if !self.finished {
            return Err(http::interrupted("the connection was closed"));
        }
        assembly.settle_calls();
        self.keep_reasoning(assembly)?;
        if matches!(assembly.stop, None | Some(StopReason::EndTurn)) {
            // Some servers report `stop` although they called tools, and all do although the model refused.
            if assembly.has_calls() {
                assembly.stop = Some(StopReason::ToolCalls);
            } else if self.refused {
                assembly.stop = Some(StopReason::Refused);
            }
        }
        Ok(())
    }

    fn whole(&mut self, value: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        if !value["choices"][0]["message"].is_object() {
            return Err(http::no_answer("another JSON"));
        }
        self.take(value, "message", assembly)?;
        self.finished = true;
        self.end(assembly)
    }
}

impl CompatibleDecoder {
    /// Decodes a piece or the whole of an answer; only the field name of the message differs.
    fn take(&mut self, value: &Value, message: &str, assembly: &mut Assembly) -> Result<(), Fault> {
        if assembly.model.is_none() {
            assembly.model = Some(text(value, "/model").to_owned()).filter(|model| !model.is_empty());
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
            assembly.usage = self::usage(usage);
        }
        let choice = &value["choices"][0];
        self.delta(&choice[message], assembly)?;
        // The stop reason does not end the answer: the chunk with the usage follows it, and so does the end marker.
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finished = true;
            assembly.stop = Some(stop_reason(reason));
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        // Only one of them: some servers send the same text under both names.
        if let Some(field) =
            REASONING_FIELDS.iter().find(|field| delta[**field].as_str().is_some_and(|text| !text.is_empty()))
        {
            self.reasoning = Some(field);
            assembly.reasoning(REASONING, delta[*field].as_str().unwrap_or_default())?;
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            // Reserves the position at which the reasoning began, although its value is complete only at the end.
            assembly.reasoning_value(REASONING, Value::Null)?;
            self.detail(detail);
        }
        assembly.text(TEXT, text(delta, "/content"))?;
        let refusal = text(delta, "/refusal");
        self.refused |= !refusal.is_empty();
        assembly.text(TEXT, refusal)?;
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, assembly)?;
        }
        Ok(())
    }

    /// Assigns a piece to its call by number, else by id, else to the last call.
    fn call(&mut self, piece: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        let index = number(piece, "/index");
        let id = text(piece, "/id");
        let name = text(piece, "/function/name");
        let fits = |(other, known): &(Option<u64>, String)| {
            // Some servers number every call zero but give each an id.
            *other == index && (id.is_empty() || known == id)
        };
        // Without number and id, only a name shows that another call begins.
        let anonymous = index.is_none() && id.is_empty() && !name.is_empty();
        let place = self.calls.iter().rposition(fits).filter(|_| !anonymous);
        let key = match place {
            Some(place) => FIRST_CALL + place as u64,
            None => {
                let key = FIRST_CALL + self.calls.len() as u64;
                assembly.call_started(key, id, name)?;
                self.calls.push((index, id.to_owned()));
                key
            }
        };
        match &piece["function"]["arguments"] {
            Value::String(arguments) => assembly.call_arguments(key, arguments),
            // Some servers send an object instead of its text.
            Value::Object(arguments) => {
                assembly.call_arguments(key, &Value::Object(arguments.clone()).to_string())
            }
            _ => Ok(()),
        }
    }

    /// Merges a piece of a detail with the earlier ones of the same number and type. Texts are appended, other fields replaced.
    fn detail(&mut self, piece: &Value) {
        let Some(piece) = piece.as_object() else { return };
        let same = |known: &&mut Value| {
            piece.contains_key("index") && known["index"] == piece["index"] && known["type"] == piece["type"]
        };
        // Details without an index are never merged: two of them may be equal in type and still belong to different
        // steps of reasoning.
        let Some(known) = self.details.iter_mut().find(same).and_then(Value::as_object_mut) else {
            self.details.push(Value::Object(piece.clone()));
            return;
        };
        for (name, value) in piece {
            match (known.get_mut(name), value) {
                (Some(Value::String(text)), Value::String(more))
                    if matches!(name.as_str(), "text" | "summary" | "data") =>
                {
                    text.push_str(more);
                }
                (_, Value::Null) => {}
                _ => {
                    known.insert(name.clone(), value.clone());
                }
            }
        }
    }

    fn keep_reasoning(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        let mut value = Map::new();
        if let Some(field) = self.reasoning {
            value.insert(field.to_owned(), Value::String(assembly.reasoning_text(REASONING)?));
        }
        if !self.details.is_empty() {
            value.insert("reasoning_details".to_owned(), Value::Array(std::mem::take(&mut self.details)));
        }
        if value.is_empty() { Ok(()) } else { assembly.reasoning_value(REASONING, Value::Object(value)) }
    }
}

fn usage(usage: &Value) -> TokenUsage {
    // The maximum, because proxies add the standard names with zeros to those of the server behind them.
    let count =
        |places: &[&str]| places.iter().filter_map(|place| number(usage, place)).max().unwrap_or_default();
    TokenUsage {
        input: count(&["/prompt_tokens"]),
        output: count(&["/completion_tokens"]),
        // Names used by OpenAI, by DeepSeek, and by proxies in front of Anthropic.
        cached_read: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cache_read_input_tokens",
        ]),
        cached_write: count(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_creation_tokens",
            "/cache_creation_input_tokens",
        ]),
        reasoning: count(&["/completion_tokens_details/reasoning_tokens"]),
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" => StopReason::MaxOutputTokens,
        "content_filter" => StopReason::Refused,
        other => StopReason::Other(other.to_owned()),
    }
}
