//! Claude Code: one file for each session and each subagent, with instruction texts as attachments.

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
use crate::recorder::{Recorder, is_instruction_file, texts_of};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(default)]
    is_sidechain: Option<bool>,
    #[serde(borrow, default)]
    summary: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attachment: Option<&'a RawValue>,
    #[serde(borrow, default)]
    rendered: Option<&'a RawValue>,
    #[serde(borrow, default)]
    compact_metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
}

/// Kinds of records that do not change the context.
const NOISE: &[&str] = &[
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "atis-latch",
    "tools-used",
    "cost-state",
    "file-history-snapshot",
    "file-history-delta",
    "progress",
    "api-request-blob",
    "agent-name",
    "agent-color",
    "agent-setting",
    "pr-link",
    "tag",
    "custom-title",
    "ai-title",
    "worktree-state",
    "speculation-accept",
    "content-replacement",
];

/// Reads a session, or a subagent's file.
pub(crate) fn read(path: &Path, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    // Subagents inherit the id of their session, so only the file's name separates them.
    let agent = stem.strip_prefix("agent-").map(str::to_owned);
    recorder.header.id = agent.clone().unwrap_or(stem);
    recorder.header.recorded = RecordedTexts { nested: true, ..RecordedTexts::default() };
    let is_subagent = agent.is_some();
    if is_subagent {
        recorder.header.role = role_beside(path);
    }
    let mut reader = Reader { recorder, is_subagent, response: String::new(), is_started: false };
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| reader.line(line))?;
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    Ok(())
}

/// Returns the kind of a subagent from the file beside its transcript.
fn role_beside(path: &Path) -> Option<String> {
    let bytes = crate::sources::small_file(&path.with_extension("meta.json"))?;
    let meta: Value = serde_json::from_slice(&bytes).ok()?;
    Some(meta.get("agentType")?.as_str()?.to_owned())
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    is_subagent: bool,
    /// Id of the response that the last assistant record belongs to.
    response: String,
    is_started: bool,
}

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        if NOISE.contains(&line.kind.as_ref()) {
            return true;
        }
        // Versions before subagents had files of their own wrote their messages between those of the session.
        if line.is_sidechain == Some(true) && !self.is_subagent {
            return true;
        }
        self.recorder.at_text(line.timestamp.as_deref());
        self.note(&line);
        match line.kind.as_ref() {
            "user" => self.user(&line),
            "assistant" => self.assistant(&line),
            "attachment" => self.attachment(&line),
            "system" if line.subtype.as_deref() == Some("compact_boundary") => self.compacted(&line),
            "system" => {}
            // The exact requests are recorded since the versions that record instructions.
            "api-request" | "api-request-shape" => self.recorder.header.recorded = RecordedTexts::ALL,
            "summary" => {
                let title = line.summary.as_deref().map(str::to_owned);
                self.recorder.header.title = title.or(self.recorder.header.title.take());
            }
            _ => self.recorder.problems.unknown += 1,
        }
        true
    }

    fn note(&mut self, line: &Line<'_>) {
        let header = &mut self.recorder.header;
        if header.cwd.is_none() {
            header.cwd = line.cwd.as_deref().map(Into::into);
        }
        if let Some(version) = &line.version {
            header.version = Some(version.clone().into_owned());
        }
        if self.is_subagent {
            if let Some(id) = &line.agent_id {
                header.id = id.clone().into_owned();
            }
            if header.parent.is_none() {
                header.parent = line.session_id.clone().map(Cow::into_owned);
            }
        }
        if !self.is_started && header.cwd.is_some() {
            self.is_started = true;
            self.recorder.start(false);
        }
    }

    fn user(&mut self, line: &Line<'_>) {
        let Some(message) = message(line.message) else { return };
        let Some(content) = message.content else { return };
        if content.get().starts_with('[') {
            let Ok(blocks) = serde_json::from_str::<Vec<Block<'_>>>(content.get()) else { return };
            let mut results = 0;
            for block in blocks.iter().filter(|block| block.kind == "tool_result") {
                let id = block.tool_use_id.as_deref().unwrap_or_default();
                self.recorder
                    .result(id, || value(block.content).map(|value| texts_of(&value)).unwrap_or_default());
                results += 1;
            }
            if results == 0 {
                let texts = || {
                    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.text.as_deref()).collect();
                    texts.join("\n")
                };
                self.recorder.user(texts);
            }
        } else {
            self.recorder.user(|| value(Some(content)).map(|value| content_text(&value)).unwrap_or_default());
        }
    }

    fn assistant(&mut self, line: &Line<'_>) {
        let Some(message) = message(line.message) else { return };
        // One response can span several records.
        let response = message.id.as_deref().unwrap_or_default();
        let is_new = response.is_empty() || response != self.response;
        if is_new {
            self.response = response.to_owned();
            self.recorder.close();
        }
        let blocks = message.content.map(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()));
        for block in blocks.into_iter().flatten().flatten() {
            match block.kind.as_ref() {
                "text" => self.recorder.assistant(|| block.text.clone().unwrap_or_default().into_owned()),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let input = value(block.input).unwrap_or_default();
                    let id = block.id.as_deref().unwrap_or_default();
                    self.recorder.call(id, block.name.as_deref().unwrap_or_default(), &input);
                }
                _ => {}
            }
        }
        if let Some(usage) = message.usage.filter(|_| is_new) {
            let cached =
                usage.cache_creation_input_tokens.unwrap_or(0) + usage.cache_read_input_tokens.unwrap_or(0);
            self.recorder.usage(Some(usage.input_tokens + cached));
        }
    }

    fn attachment(&mut self, line: &Line<'_>) {
        let Some(raw) = line.attachment else { return };
        let Ok(kind) = serde_json::from_str::<Kind<'_>>(raw.get()) else { return };
        match kind.kind.as_ref() {
            "instructions" => {
                self.recorder.header.recorded = RecordedTexts::ALL;
                let Some(attachment) = value(Some(raw)) else { return };
                let changed = attachment.get("changed").and_then(Value::as_bool) == Some(true);
                let is_start = attachment.get("reason").and_then(Value::as_str) == Some("session_start");
                let when = match (changed, is_start) {
                    (true, true) => DeliveryTime::Resume,
                    (true, false) => DeliveryTime::Reminder,
                    (false, _) => DeliveryTime::Start,
                };
                let mut found = false;
                for file in attachment.get("files").and_then(Value::as_array).into_iter().flatten() {
                    found = true;
                    self.add(line, text(file, "path"), text(file, "content"), when, Origin::File);
                }
                if !found {
                    for (path, body) in rendered_files(line.rendered) {
                        self.add(line, &path, &body, when, Origin::File);
                    }
                }
            }
            "nested_memory" => {
                let Some(attachment) = value(Some(raw)) else { return };
                let content = &attachment["content"];
                let body = content.as_str().unwrap_or_else(|| text(content, "content"));
                self.add(line, text(&attachment, "path"), body, DeliveryTime::Reading, Origin::File);
            }
            // A note about a file that changed. It shows only the lines around the change.
            "edited_text_file" => {
                let Some(attachment) = value(Some(raw)) else { return };
                let path = first(&attachment, &["filename", "path", "filePath"]);
                let snippet = first(&attachment, &["snippet", "content", "text"]);
                if is_instruction_file(path) {
                    let rendered = || value(line.rendered).map(|value| texts_of(&value)).unwrap_or_default();
                    let snippet = if snippet.is_empty() { rendered() } else { snippet.to_owned() };
                    self.add(line, path, &snippet, DeliveryTime::Reminder, Origin::Excerpt);
                }
            }
            // After a compaction, files that were read before are attached again.
            "file" | "compact_file_reference" => {
                let Some(attachment) = value(Some(raw)) else { return };
                let path = text(&attachment, "filename");
                let body = attachment.pointer("/content/file/content").and_then(Value::as_str);
                if let Some(body) = body.filter(|_| is_instruction_file(path)) {
                    self.add(line, path, body, DeliveryTime::Reminder, Origin::File);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, line: &Line<'_>, path: &str, text: &str, when: DeliveryTime, origin: Origin) {
        self.recorder.instructions(InstructionText {
            path: (!path.is_empty()).then(|| path.into()),
            text: text.to_owned(),
            when,
            layer: Layer::Conversation,
            origin,
            record: line.uuid.clone().map(Cow::into_owned),
        });
    }

    fn compacted(&mut self, line: &Line<'_>) {
        let metadata = value(line.compact_metadata).unwrap_or_default();
        let kept = &metadata["preservedMessages"];
        let ids = ["allUuids", "uuids"].iter().find_map(|key| kept.get(key)?.as_array());
        let ids = ids.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        self.recorder.compaction(Remainder::Records(ids.collect()));
    }
}

fn message(raw: Option<&RawValue>) -> Option<Message<'_>> {
    serde_json::from_str(raw?.get()).ok()
}

fn value(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}

fn first<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    keys.iter().map(|key| text(value, key)).find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns the files of a rendered reminder, for versions that record no list of files.
fn rendered_files(rendered: Option<&RawValue>) -> Vec<(String, String)> {
    const OPEN: &str = "Contents of ";
    let Some(rendered) = value(rendered) else { return Vec::new() };
    let rendered = texts_of(&rendered);
    let body = rendered.trim_end().trim_end_matches("</system-reminder>");
    let mut files: Vec<(String, String)> = Vec::new();
    for line in body.lines() {
        let heading = line.strip_prefix(OPEN).and_then(|rest| rest.trim_end().strip_suffix(':'));
        match (heading, files.last_mut()) {
            (Some(heading), _) => {
                let path = heading.split(" (").next().unwrap_or(heading);
                files.push((path.to_owned(), String::new()));
            }
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    files.into_iter().map(|(path, text)| (path, text.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_rendered_reminders() {
        let rendered = r##"[{"content":"<system-reminder>\nIntro\n\nContents of /r/CLAUDE.md (project instructions):\n\n# A\n\n- x\n\nContents of /r/B.md (project instructions):\n\n- y\n</system-reminder>"}]"##;
        let raw: &RawValue = serde_json::from_str(rendered).unwrap();
        let expected = [("/r/CLAUDE.md", "# A\n\n- x"), ("/r/B.md", "- y")];
        assert_eq!(rendered_files(Some(raw)), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
