//! Parsing of hook input. Agents and their versions spell fields differently, so each field is looked up under all its
//! known names and everything else is ignored.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

#[derive(Debug)]
pub(super) struct HookInput {
    /// Name of the event in the agent's spelling.
    pub(super) name: Option<String>,
    pub(super) kind: EventKind,
    /// Id of the agent's session, or of a sub-agent, which has a context of its own. `None` if the agent sends none.
    pub(super) session: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) tool: Option<ToolUse>,
}

/// A tool call and its result.
#[derive(Debug)]
pub(super) struct ToolUse {
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) response: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// The model's context is empty.
    Started,
    /// The model's context is unchanged.
    Resumed,
    /// The model's context is about to be summarized.
    Compacted,
    /// A tool has run.
    Tool,
    /// A tool is about to run.
    BeforeTool,
    /// Irrelevant for us.
    Other,
}

const EVENT: &[&str] = &["hook_event_name", "hookEventName"];
const SESSION: &[&str] = &["session_id", "sessionId"];
const SUB_AGENT: &[&str] = &["agent_id", "agentId"];
const TOOL: &[&str] = &["tool_name", "toolName"];
const TOOL_INPUT: &[&str] = &["tool_input", "toolArgs", "tool_args"];
const TOOL_RESPONSE: &[&str] = &["tool_response", "toolResult", "tool_result"];

impl HookInput {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        // Some shells on Windows put a byte order mark before piped text.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let value: Value = serde_json::from_slice(bytes)
            .or_else(|error| {
                // Only after an error, because the repair copies the whole input, which may have megabytes.
                with_whole_characters(bytes).map_or(Err(error), |bytes| serde_json::from_slice(&bytes))
            })
            .map_err(|error| error.to_string())?;
        let Value::Object(mut fields) = value else { return Err("it is not an object".to_owned()) };
        let name = text(&fields, EVENT);
        let has_response = TOOL_RESPONSE.iter().any(|name| fields.contains_key(*name));
        let tool = text(&fields, TOOL).map(|name| ToolUse {
            name,
            input: parsed(take(&mut fields, TOOL_INPUT)),
            response: parsed(take(&mut fields, TOOL_RESPONSE)),
        });
        let session = text(&fields, SESSION).map(|session| match text(&fields, SUB_AGENT) {
            Some(agent) => format!("{session}\0{agent}"),
            None => session,
        });
        let cwd = text(&fields, &["cwd"]).map(PathBuf::from).filter(|path| path.is_absolute());
        let kind = kind(name.as_deref(), &fields, tool.is_some(), has_response);
        Ok(Self { name, kind, session, cwd, tool })
    }

    /// Returns the agent's working directory, or the fallback.
    pub(super) fn cwd_or<'a>(&'a self, otherwise: &'a Path) -> &'a Path {
        self.cwd.as_deref().unwrap_or(otherwise)
    }
}

/// Determines the kind of event. `source` marks the start of a session under any event name; agents that send no event
/// name are recognized by fields that only they send.
fn kind(name: Option<&str>, fields: &Map<String, Value>, is_tool: bool, has_response: bool) -> EventKind {
    // `SessionStart`, `sessionStart` and `session_start` are the same event in the spelling of different agents.
    let name = name.unwrap_or_default().replace(['_', '-'], "").to_lowercase();
    let source = fields.get("source").and_then(Value::as_str);
    match (name.as_str(), source) {
        ("sessionstart", Some("resume")) => EventKind::Resumed,
        ("sessionstart", _) => EventKind::Started,
        ("precompact" | "postcompact", _) => EventKind::Compacted,
        // Gemini CLI sends this before every request, whether it compresses or not.
        ("precompress", _) => EventKind::Other,
        ("pretooluse" | "beforetool", _) if is_tool => EventKind::BeforeTool,
        // Copilot names no events. Only before the call is there no result.
        ("", _) if fields.contains_key("toolName") && is_tool && !has_response => EventKind::BeforeTool,
        // The event after a tool has a different name in each agent, and some send none. The tool's name is a safer
        // sign.
        _ if is_tool => EventKind::Tool,
        ("", Some("resume")) => EventKind::Resumed,
        ("", Some(_)) => EventKind::Started,
        ("", None) if fields.contains_key("trigger") => EventKind::Compacted,
        _ => EventKind::Other,
    }
}

fn text(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| fields.get(*name)?.as_str());
    found.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn take(fields: &mut Map<String, Value>, names: &[&str]) -> Value {
    names.iter().find_map(|name| fields.remove(*name)).unwrap_or_default()
}

/// Replaces lone surrogates by U+FFFD; `None` if there are none.
///
/// Agents written in JavaScript cut text between the two halves of an emoji and send the remaining half as an escape,
/// which Rust strings cannot represent.
fn with_whole_characters(json: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| {
        let escape = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()
    };
    let mut repaired = Vec::with_capacity(json.len());
    let mut at = 0;
    let mut found = false;
    while let Some(&byte) = json.get(at) {
        let taken = match (byte, unit(at)) {
            (b'\\', Some(0xD800..=0xDBFF)) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            (b'\\', Some(0xD800..=0xDFFF)) => {
                repaired.extend_from_slice(b"\\ufffd");
                found = true;
                at += 6;
                continue;
            }
            (b'\\', _) => 2,
            _ => 1,
        };
        repaired.extend_from_slice(&json[at..json.len().min(at + taken)]);
        at += taken;
    }
    found.then_some(repaired)
}

fn parsed(value: Value) -> Value {
    match value {
        // Copilot sends a tool's arguments as a string that contains JSON.
        Value::String(text) if text.trim_start().starts_with('{') => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, kind: EventKind, session: Option<&str>) {
        let parsed = HookInput::parse(input.as_bytes()).unwrap();
        assert_eq!((parsed.kind, parsed.session.as_deref()), (kind, session), "{input}");
    }

    #[test]
    fn all_known_spellings_are_parsed() {
        check(
            r#"{"hook_event_name":"SessionStart","source":"startup","session_id":"a"}"#,
            EventKind::Started,
            Some("a"),
        );
        check(r#"{"hook_event_name":"SessionStart","source":"resume"}"#, EventKind::Resumed, None);
        check(r#"{"hook_event_name":"SessionStart","source":"compact"}"#, EventKind::Started, None);
        check(
            r#"{"hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{}}"#,
            EventKind::Tool,
            None,
        );
        check(r#"{"hook_event_name":"AfterTool","tool_name":"read_file"}"#, EventKind::Tool, None);
        check(r#"{"hook_event_name":"PreCompress"}"#, EventKind::Other, None);
        check(r#"{"hook_event_name":"PreCompact"}"#, EventKind::Compacted, None);
        check(
            r#"{"sessionId":"b","toolName":"view","toolArgs":"{}","timestamp":1}"#,
            EventKind::BeforeTool,
            Some("b"),
        );
        check(
            r#"{"sessionId":"b","toolName":"view","toolArgs":"{}","toolResult":{}}"#,
            EventKind::Tool,
            Some("b"),
        );
        check(
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#,
            EventKind::BeforeTool,
            None,
        );
        check(r#"{"hook_event_name":"BeforeTool","tool_name":"replace"}"#, EventKind::BeforeTool, None);
        check(r#"{"sessionId":"b","source":"new","initialPrompt":"hi"}"#, EventKind::Started, Some("b"));
        check(r#"{"sessionId":"b","trigger":"auto"}"#, EventKind::Compacted, Some("b"));
        check(
            r#"{"hook_event_name":"Stop","session_id":"a","agent_id":"s"}"#,
            EventKind::Other,
            Some("a\0s"),
        );
    }

    #[test]
    fn unknown_input_is_ignored() {
        check(r#"{"hook_event_name":7,"session_id":{},"cwd":[],"tool_name":null}"#, EventKind::Other, None);
        check(r#"{"hook_event_name":"TomorrowsEvent","schema":99}"#, EventKind::Other, None);
        check("\u{feff}{}", EventKind::Other, None);
        for broken in ["", "[]", "7", "{", "\u{0}"] {
            HookInput::parse(broken.as_bytes()).unwrap_err();
        }
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        HookInput::parse(format!("{{\"a\":{deep}}}").as_bytes()).unwrap_err();
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        for (written, meant) in [
            (r"cut \ud83d", "cut \u{fffd}"),
            (r"\ude00 cut", "\u{fffd} cut"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud83d\\ude00", "\u{fffd}\\ude00"),
            (r"C:\\ud83d \ud83d", "C:\\ud83d \u{fffd}"),
        ] {
            let input = format!(r#"{{"toolName":"view","toolArgs":{{"path":"{written}"}}}}"#);
            let parsed = HookInput::parse(input.as_bytes()).unwrap();
            assert_eq!(parsed.tool.unwrap().input["path"], meant, "{written}");
        }
        HookInput::parse(br#"{"a":"\ud83"#).unwrap_err();
    }

    #[test]
    fn arguments_may_be_json_text() {
        let parsed = HookInput::parse(br#"{"toolName":"view","toolArgs":"{\"path\":\"/a\"}"}"#).unwrap();
        assert_eq!(parsed.tool.unwrap().input["path"], "/a");
    }
}
