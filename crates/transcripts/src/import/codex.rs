//! Codex: one rollout file for each thread, with the items of every request.

use std::borrow::Cow;
use std::path::Path;

use protocol::DeliveryTime;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{content_text, text};
use crate::event::{InstructionText, Layer, Origin, Remainder};
use crate::lines;
use crate::model::{ReadError, RecordedTexts};
use crate::recorder::{Recorder, texts_of};

const HEADING: &str = "# AGENTS.md instructions";
const OPEN: &str = "<INSTRUCTIONS>\n";
const CLOSE: &str = "</INSTRUCTIONS>";
/// Beginning of a block that follows a change.
const REPLACES: &str = "These AGENTS.md instructions replace all previously provided AGENTS.md instructions.";
/// Wrapper of earlier versions.
const OLD_OPEN: &str = "<user_instructions>";
const OLD_CLOSE: &str = "</user_instructions>";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
}

/// Reads a rollout.
pub(crate) fn read(path: &Path, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    recorder.header.recorded = RecordedTexts::ALL;
    let mut reader = Reader { recorder, calls: Vec::new(), is_task_open: false };
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| reader.line(line))?;
    let is_open = reader.is_task_open;
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    recorder.header.running |= is_open && crate::sources::is_recent(path);
    Ok(())
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    /// Ids of the calls of this session, to recognize commands that a script runs.
    calls: Vec<String>,
    is_task_open: bool,
}

/// Calls whose ids are remembered.
const MAX_CALLS: usize = 1024;

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(parsed) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        let Some(payload) = parsed.payload else {
            self.recorder.problems.unknown += 1;
            return true;
        };
        self.recorder.at_text(parsed.timestamp.as_deref());
        match parsed.kind.as_ref() {
            "session_meta" => self.meta(payload),
            "response_item" => self.item(payload),
            "event_msg" => self.event(payload),
            "compacted" => self.compacted(payload),
            // These repeat the items, or describe the user interface.
            "turn_context"
            | "world_state"
            | "token_usage_record"
            | "ghost_snapshot"
            | "inter_agent_communication_metadata" => {
                if parsed.kind == "token_usage_record" {
                    self.recorder.close();
                }
            }
            _ => self.recorder.problems.unknown += 1,
        }
        true
    }

    fn meta(&mut self, payload: &RawValue) {
        let Ok(meta) = serde_json::from_str::<Value>(payload.get()) else { return };
        let header = &mut self.recorder.header;
        // A fork repeats the metadata of its origin; the first ones are its own.
        if header.id.is_empty() {
            header.id = text(&meta, "id").to_owned();
            header.cwd = meta.get("cwd").and_then(Value::as_str).map(Into::into);
            header.version = meta.get("cli_version").and_then(Value::as_str).map(str::to_owned);
            let commit = meta.pointer("/git/commit_hash").and_then(Value::as_str);
            header.commit = commit.map(str::to_owned);
            let spawned = meta.pointer("/source/subagent/thread_spawn/parent_thread_id");
            let parent = meta.get("parent_thread_id").or(spawned).and_then(Value::as_str);
            header.parent = parent.map(str::to_owned);
            let started = text(&meta, "timestamp").to_owned();
            self.recorder.at_text(Some(&started));
            self.recorder.start(false);
        }
    }

    fn item(&mut self, payload: &RawValue) {
        let Ok(kind) = serde_json::from_str::<Kind<'_>>(payload.get()) else { return };
        let is_result = kind.kind.ends_with("_output");
        match kind.kind.as_ref() {
            "message"
            | "function_call"
            | "custom_tool_call"
            | "local_shell_call"
            | "agent_message"
            | "function_call_output"
            | "custom_tool_call_output" => {}
            "reasoning" | "additional_tools" | "web_search_call" | "other" => return,
            _ => {
                self.recorder.problems.unknown += 1;
                return;
            }
        }
        let Ok(item) = serde_json::from_str::<Value>(payload.get()) else { return };
        let id = text(&item, "call_id");
        if is_result {
            let output = item.get("output").unwrap_or(&Value::Null);
            self.recorder.result(id, || texts_of(output));
            return;
        }
        match kind.kind.as_ref() {
            "message" => self.message(&item),
            "agent_message" => self.recorder.user(|| content_text(&item["content"])),
            "function_call" => {
                let arguments = text(&item, "arguments");
                let arguments = serde_json::from_str(arguments).unwrap_or(Value::from(arguments));
                self.call(id, text(&item, "name"), &arguments);
            }
            "custom_tool_call" => self.call(id, text(&item, "name"), &item["input"]),
            _ => self.call(id, "local_shell", &item["action"]),
        }
    }

    fn call(&mut self, id: &str, tool: &str, input: &Value) {
        if self.calls.len() < MAX_CALLS {
            self.calls.push(id.to_owned());
        }
        self.recorder.call(id, tool, input);
    }

    fn message(&mut self, item: &Value) {
        match text(item, "role") {
            "assistant" => self.recorder.assistant(|| content_text(&item["content"])),
            "user" => {
                self.recorder.user(|| content_text(&item["content"]));
                for block in blocks(item, DeliveryTime::Start) {
                    self.recorder.instructions(block);
                }
            }
            // Developer messages are a part of the system prompt.
            _ => {}
        }
    }

    fn event(&mut self, payload: &RawValue) {
        let Ok(kind) = serde_json::from_str::<Kind<'_>>(payload.get()) else { return };
        match kind.kind.as_ref() {
            "task_started" | "turn_started" => self.is_task_open = true,
            "task_complete" | "turn_complete" | "turn_aborted" => self.is_task_open = false,
            "token_count" => {
                self.recorder.close();
                let Ok(event) = serde_json::from_str::<Value>(payload.get()) else { return };
                let tokens = event.pointer("/info/last_token_usage/input_tokens");
                self.recorder.usage(tokens.and_then(Value::as_u64));
            }
            "item_completed" => self.completed(payload),
            _ => {}
        }
    }

    /// Adds a command that a script has run. Commands that the model called directly are items.
    fn completed(&mut self, payload: &RawValue) {
        // Most completed items repeat a message; these need no parsing.
        if memchr::memmem::find(payload.get().as_bytes(), b"\"CommandExecution\"").is_none() {
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(payload.get()) else { return };
        let Some(item) = event.get("item").filter(|item| text(item, "type") == "CommandExecution") else {
            return;
        };
        let id = text(item, "id");
        if self.calls.iter().any(|call| call == id) {
            return;
        }
        let words: Vec<&str> =
            item["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        // The shell and its flag are not the model's words.
        let command = match words.as_slice() {
            [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => (*script).to_owned(),
            words => words.join(" "),
        };
        self.recorder.command(&command);
    }

    fn compacted(&mut self, payload: &RawValue) {
        let Ok(compacted) = serde_json::from_str::<Value>(payload.get()) else { return };
        let history = compacted.get("replacement_history").and_then(Value::as_array);
        let remaining = history.map(|items| items.iter().map(texts_of).collect::<Vec<_>>().join("\n"));
        // Earlier versions record only the summary, and send the instructions again without a record.
        self.recorder.compaction(remaining.map_or(Remainder::Loaded, Remainder::Within));
        for item in history.into_iter().flatten() {
            if text(item, "role") == "user" {
                for block in blocks(item, DeliveryTime::Start) {
                    self.recorder.instructions(block);
                }
            }
        }
    }
}

/// Returns the instruction texts of a message.
fn blocks(item: &Value, when: DeliveryTime) -> Vec<InstructionText> {
    let contents = item["content"].as_array().into_iter().flatten();
    contents.filter_map(|block| instructions_in(text(block, "text"), when)).collect()
}

fn instructions_in(text: &str, when: DeliveryTime) -> Option<InstructionText> {
    let body = if text.starts_with(HEADING) {
        let (_, rest) = text.split_once(OPEN)?;
        let end = rest.rfind(CLOSE).unwrap_or(rest.len());
        &rest[..end]
    } else {
        let rest = text.trim_start().strip_prefix(OLD_OPEN)?;
        let end = rest.rfind(OLD_CLOSE).unwrap_or(rest.len());
        rest[..end].trim_start_matches('\n')
    };
    let (body, when) = match body.trim_start().strip_prefix(REPLACES) {
        Some(rest) => (rest.trim_start_matches('\n'), DeliveryTime::Resume),
        None => (body, when),
    };
    // The block ends with a line end of its own.
    let body = body.strip_suffix('\n').unwrap_or(body);
    Some(InstructionText {
        path: None,
        text: body.to_owned(),
        when,
        layer: Layer::Conversation,
        origin: Origin::Joined,
        record: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_old_and_new_versions_are_found() {
        let start = DeliveryTime::Start;
        let new =
            "# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>\n# Shop\n\n- Use pnpm.\n\n</INSTRUCTIONS>";
        assert_eq!(instructions_in(new, start).unwrap().text, "# Shop\n\n- Use pnpm.\n");
        let old = "<user_instructions>\n\n# Shop\n\n</user_instructions>";
        assert_eq!(instructions_in(old, start).unwrap().text, "# Shop\n");
        let changed =
            format!("# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>\n{REPLACES}\n\nx\n</INSTRUCTIONS>");
        let changed = instructions_in(&changed, start).unwrap();
        assert_eq!((changed.text.as_str(), changed.when), ("x", DeliveryTime::Resume));
        assert_eq!(instructions_in("Use pnpm.", start), None);
    }
}
