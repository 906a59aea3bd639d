//! Anthropic's Messages API.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::{Adapter, DecodeStep, Decoder, MessagePart, number, outgoing, parse, secret_header, text};
use crate::chat::assembly::Assembly;
use crate::chat::cache;
use crate::chat::cache::SessionEnd;
use crate::chat::message::input_for_history;
use crate::error::Fault;
use crate::transport::http;
use crate::transport::sse::SseEvent;
use crate::{
    ChatRequest, MessageRole, ModelRules, ProviderKind, ReasoningRules, StopReason, TokenUsage, ToolChoice,
    ToolResult, fault,
};

/// Version of the API.
const VERSION: &str = "2023-06-01";
/// Smallest thinking budget that the API accepts.
const MIN_THINKING: u32 = 1024;

pub(crate) struct Anthropic;

impl Adapter for Anthropic {
    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self, key: Option<&SecretString>) -> Result<HeaderMap, Fault> {
        let mut headers = match key {
            Some(key) => secret_header(HeaderName::from_static("x-api-key"), "", key)?,
            None => HeaderMap::new(),
        };
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        Ok(headers)
    }

    fn body(&self, request: &ChatRequest, rules: &ModelRules) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(request.model));
        body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
        body.insert("stream".to_owned(), json!(true));
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
            });
            body.insert("tools".to_owned(), tools.collect());
            body.insert("tool_choice".to_owned(), tool_choice(request.tool_choice));
        }
        body.extend(thinking(request, rules.reasoning));
        let system: Vec<Value> = [&request.system.stable, &request.system.session]
            .into_iter()
            .filter(|part| !part.trim().is_empty())
            .map(|part| json!({ "type": "text", "text": part }))
            .collect();
        if !system.is_empty() {
            body.insert("system".to_owned(), Value::Array(system));
        }
        body.insert("messages".to_owned(), Value::Array(messages(request)));
        cache::mark(&mut body, rules.cache, SessionEnd::of(request));
        Value::Object(body)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(AnthropicDecoder::default())
    }
}

fn tool_choice(choice: ToolChoice) -> Value {
    let word = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
    };
    json!({ "type": word })
}

/// Returns the fields that request thinking. The API rejects them together with a forced tool call.
fn thinking(request: &ChatRequest, rules: ReasoningRules) -> Map<String, Value> {
    let mut fields = Map::new();
    // A forced call matters more than reasoning: the caller needs the tool's result, while the answer is only better
    // with thinking.
    let Some(effort) = request.reasoning.filter(|_| request.tool_choice != ToolChoice::Required) else {
        return fields;
    };
    match rules {
        ReasoningRules::Absent => {}
        ReasoningRules::Effort => {
            fields.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
            fields.insert("output_config".to_owned(), json!({ "effort": effort.word() }));
        }
        // The budget is part of the output limit, and half of it is left for the answer.
        ReasoningRules::Budget => {
            let budget = effort.budget().min(request.max_output_tokens / 2);
            if budget >= MIN_THINKING {
                fields.insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": budget }));
            }
        }
    }
    fields
}

fn messages(request: &ChatRequest) -> Vec<Value> {
    let messages = outgoing(request, ProviderKind::Anthropic).into_iter().map(|(role, parts)| {
        let role = if role == MessageRole::Assistant { "assistant" } else { "user" };
        json!({ "role": role, "content": parts.into_iter().map(content).collect::<Vec<_>>() })
    });
    messages.collect()
}

fn content(part: MessagePart<'_>) -> Value {
    match part {
        MessagePart::Text(text) => json!({ "type": "text", "text": text }),
        MessagePart::Call(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input_for_history(call) })
        }
        MessagePart::Result(result) => tool_result(result),
        MessagePart::Reasoning(value) => value.clone(),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let texts = result.blocks.iter().filter(|text| !text.trim().is_empty());
    let content: Vec<Value> = texts.map(|text| json!({ "type": "text", "text": text })).collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.call_id, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

#[derive(Debug, Default)]
struct AnthropicDecoder {
    /// Kind of each block, by its number.
    blocks: BTreeMap<u64, BlockKind>,
    usage: RawUsage,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    /// A tool call, with the input if a proxy sends it at the beginning instead of in pieces.
    ToolUse(Option<String>),
    /// Thinking, with its signature.
    Thinking(String),
    /// A block that is complete at its beginning, or an unknown one.
    Other,
}

/// Usage as Anthropic reports it: cached input is counted separately, and the numbers come in two events.
#[derive(Debug, Default)]
struct RawUsage {
    input: u64,
    written: u64,
    read: u64,
    output: u64,
    thinking: u64,
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<DecodeStep, Fault> {
        let value = parse(event)?;
        let index = number(&value, "/index").unwrap_or_default();
        match text(&value, "/type") {
            "message_start" => self.start(&value["message"], assembly),
            "content_block_start" => self.begin(index, &value["content_block"], assembly)?,
            "content_block_delta" => self.delta(index, &value["delta"], assembly)?,
            "content_block_stop" => self.finish(index, assembly)?,
            "message_delta" => {
                stop(&value["delta"], assembly);
                self.count(&value["usage"], assembly);
            }
            "message_stop" => {
                // A careless proxy may have left blocks open.
                assembly.settle_calls();
                return Ok(DecodeStep::Done);
            }
            "error" => return Err(fault::of_event(&value)),
            _ => {}
        }
        Ok(DecodeStep::Continue)
    }

    /// Accepts the end if the stop reason is known, because then only the final event is missing.
    fn end(&mut self, assembly: &mut Assembly) -> Result<(), Fault> {
        if assembly.stop.is_none() {
            return Err(http::interrupted("the connection was closed"));
        }
        assembly.settle_calls();
        Ok(())
    }

    fn whole(&mut self, message: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        let Some(blocks) = message["content"].as_array() else {
            return Err(http::no_answer("another JSON"));
        };
        self.start(message, assembly);
        for (index, block) in (0..).zip(blocks) {
            self.begin(index, block, assembly)?;
            self.finish(index, assembly)?;
        }
        stop(message, assembly);
        assembly.settle_calls();
        Ok(())
    }
}

fn stop(value: &Value, assembly: &mut Assembly) {
    if let Some(reason) = value["stop_reason"].as_str() {
        assembly.stop = Some(stop_reason(reason));
    }
}

impl AnthropicDecoder {
    fn start(&mut self, message: &Value, assembly: &mut Assembly) {
        assembly.model = Some(text(message, "/model").to_owned()).filter(|model| !model.is_empty());
        self.count(&message["usage"], assembly);
    }

    fn begin(&mut self, index: u64, block: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        let kind = match text(block, "/type") {
            "text" => {
                assembly.text(index, text(block, "/text"))?;
                BlockKind::Text
            }
            "tool_use" => {
                assembly.call_started(index, text(block, "/id"), text(block, "/name"))?;
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                BlockKind::ToolUse(input.map(|input| Value::Object(input.clone()).to_string()))
            }
            "thinking" => {
                assembly.reasoning(index, text(block, "/thinking"))?;
                BlockKind::Thinking(text(block, "/signature").to_owned())
            }
            "redacted_thinking" => {
                assembly.reasoning_value(index, block.clone())?;
                BlockKind::Other
            }
            _ => BlockKind::Other,
        };
        self.blocks.insert(index, kind);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value, assembly: &mut Assembly) -> Result<(), Fault> {
        match (text(delta, "/type"), self.blocks.get_mut(&index)) {
            ("text_delta", _) => assembly.text(index, text(delta, "/text")),
            // Server-side tools send the same kind of piece for their own blocks, which are `Other` here and must not
            // become calls. A missing block is passed on, so that the assembly reports the missing beginning.
            ("input_json_delta", Some(BlockKind::ToolUse(_)) | None) => {
                assembly.call_arguments(index, text(delta, "/partial_json"))
            }
            ("thinking_delta", _) => assembly.reasoning(index, text(delta, "/thinking")),
            ("signature_delta", Some(BlockKind::Thinking(signature))) => {
                signature.push_str(text(delta, "/signature"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, index: u64, assembly: &mut Assembly) -> Result<(), Fault> {
        match self.blocks.remove(&index) {
            Some(BlockKind::ToolUse(input)) => {
                // The API itself sends an empty input at the beginning and the real one in pieces. A proxy's full input
                // is used only if no piece has arrived, or it would be appended to the same arguments.
                if let Some(input) = input.filter(|_| assembly.arguments(index) == Some("")) {
                    assembly.call_arguments(index, &input)?;
                }
                assembly.call_finished(index)
            }
            // Thinking without a signature cannot be sent back: the API would reject it.
            Some(BlockKind::Thinking(signature)) if !signature.is_empty() => {
                let thinking = assembly.reasoning_text(index)?;
                let value = json!({ "type": "thinking", "thinking": thinking, "signature": signature });
                assembly.reasoning_value(index, value)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, usage: &Value, assembly: &mut Assembly) {
        let raw = &mut self.usage;
        for (place, field) in [
            ("/input_tokens", &mut raw.input),
            ("/cache_creation_input_tokens", &mut raw.written),
            ("/cache_read_input_tokens", &mut raw.read),
            ("/output_tokens", &mut raw.output),
            ("/output_tokens_details/thinking_tokens", &mut raw.thinking),
            // A later event overrides only the numbers that it contains.
        ] {
            *field = number(usage, place).unwrap_or(*field);
        }
        assembly.usage = TokenUsage {
            // The other APIs include cached tokens in the input. Adding them here gives the field one meaning for
            // prices and limits.
            input: raw.input.saturating_add(raw.written).saturating_add(raw.read),
            output: raw.output,
            cached_read: raw.read,
            cached_write: raw.written,
            reasoning: raw.thinking,
        };
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" => StopReason::MaxOutputTokens,
        "model_context_window_exceeded" => StopReason::ContextFull,
        "refusal" => StopReason::Refused,
        "pause_turn" => StopReason::Paused,
        other => StopReason::Other(other.to_owned()),
    }
}
