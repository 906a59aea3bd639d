//! Copilot: one event log for each session, with the whole system prompt; subagents are events with an id.

use std::path::Path;

use protocol::DeliveryTime;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::text;
use crate::event::{InstructionText, Layer, Origin, Remainder};
use crate::lines;
use crate::model::{ReadError, RecordedTexts};
use crate::recorder::{Recorder, texts_of};

const OPEN: &str = "<custom_instruction>\n";
const CLOSE: &str = "</custom_instruction>";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Reads the events of a session, or those of one of its subagents.
pub(crate) fn read(path: &Path, agent: Option<&str>, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    recorder.header.recorded = RecordedTexts { start: true, home: true, nested: false };
    let mut reader = Reader { recorder, agent, is_resumed: false, usage: None };
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| reader.line(line))?;
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    Ok(())
}

/// Returns the ids of the subagents of a session.
pub(crate) fn subagents(path: &Path) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut problems = lines::Problems::default();
    let _ = lines::read(path, &mut problems, |line| {
        if memchr::memmem::find(line, b"\"agentId\"").is_some()
            && let Ok(Line { agent_id: Some(id), .. }) = serde_json::from_slice::<Line<'_>>(line)
            && !found.contains(&id)
        {
            found.push(id);
        }
        true
    });
    found
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    agent: Option<&'a str>,
    is_resumed: bool,
    /// Size of the request whose answer follows.
    usage: Option<u64>,
}

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        let is_session = line.kind.starts_with("session.");
        // Facts about the session hold for its subagents too; everything else belongs to one of them.
        if line.agent_id.as_deref() != self.agent && !(is_session && line.agent_id.is_none()) {
            return true;
        }
        let wanted = matches!(
            line.kind.as_str(),
            "session.start"
                | "session.resume"
                | "session.compaction_complete"
                | "session.usage_record"
                | "session.title_changed"
                | "system.message"
                | "system.notification"
                | "user.message"
                | "assistant.message"
                | "tool.execution_complete"
        );
        if !wanted {
            let known =
                ["session.", "assistant.", "tool.", "subagent.", "model.", "system.", "user.", "hook."];
            let is_known = known.iter().any(|known| line.kind.starts_with(known));
            self.recorder.problems.unknown += u64::from(!is_known);
            return true;
        }
        let Some(data) = line.data.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else {
            return false;
        };
        if self.agent.is_some() && is_session {
            if matches!(line.kind.as_str(), "session.start" | "session.resume") {
                self.facts(&data);
            }
            return true;
        }
        self.recorder.at_text(line.timestamp.as_deref());
        self.event(&line.kind, &data);
        true
    }

    fn facts(&mut self, data: &Value) {
        let header = &mut self.recorder.header;
        if let Some(id) = data.get("sessionId").and_then(Value::as_str) {
            match self.agent {
                Some(agent) => (header.id, header.parent) = (agent.to_owned(), Some(id.to_owned())),
                None => header.id = id.to_owned(),
            }
        }
        let version = data.get("copilotVersion").and_then(Value::as_str).map(str::to_owned);
        header.version = version.or(header.version.take());
        let context = &data["context"];
        if header.cwd.is_none() {
            header.cwd = context.get("cwd").and_then(Value::as_str).map(Into::into);
        }
        if header.commit.is_none() {
            header.commit = context.get("headCommit").and_then(Value::as_str).map(str::to_owned);
        }
    }

    fn event(&mut self, kind: &str, data: &Value) {
        match kind {
            "session.start" => {
                self.facts(data);
                self.recorder.start(false);
            }
            "session.resume" => {
                self.facts(data);
                self.is_resumed = true;
                // A new process has none of the files that were loaded by reading.
                self.recorder.removed(Layer::Conversation);
                self.recorder.start(true);
            }
            "session.title_changed" => {
                let title = data.get("title").and_then(Value::as_str).map(str::to_owned);
                self.recorder.header.title = title.or(self.recorder.header.title.take());
            }
            "session.usage_record" => {
                // The record precedes the answer.
                self.usage = data.pointer("/usage/inputTokens").and_then(Value::as_u64);
            }
            "session.compaction_complete" => {
                self.recorder.compaction(Remainder::Within(text(data, "summaryContent").to_owned()));
            }
            "system.message" => self.system(text(data, "content")),
            "system.notification" => {
                let kind = &data["kind"];
                if text(kind, "type") == "instruction_discovered" {
                    self.recorder.announced(text(kind, "sourcePath").into());
                }
            }
            "user.message" => self.recorder.user(|| text(data, "content").to_owned()),
            "assistant.message" => self.answer(data),
            _ => {
                let result = &data["result"];
                self.recorder.result(text(data, "toolCallId"), || match result.get("content") {
                    Some(content) => texts_of(content),
                    None => texts_of(result),
                });
            }
        }
    }

    fn system(&mut self, prompt: &str) {
        let when = if self.is_resumed { DeliveryTime::Resume } else { DeliveryTime::Start };
        self.recorder.removed(Layer::System);
        let text = |text: &str, origin| InstructionText {
            path: None,
            text: text.to_owned(),
            when,
            layer: Layer::System,
            origin,
            record: None,
        };
        let mut outside = String::new();
        let mut rest = prompt;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let end = after.find(CLOSE).unwrap_or(after.len());
            self.recorder.instructions(text(&after[..end], Origin::File));
            outside.push_str(before);
            rest = &after[end..];
        }
        outside.push_str(rest);
        // Rules with conditions stand outside of the tags.
        self.recorder.instructions(text(&outside, Origin::Tool));
    }

    fn answer(&mut self, data: &Value) {
        self.recorder.close();
        let answer = text(data, "content");
        if !answer.is_empty() {
            self.recorder.assistant(|| answer.to_owned());
        }
        for request in data["toolRequests"].as_array().into_iter().flatten() {
            self.recorder.call(text(request, "toolCallId"), text(request, "name"), &request["arguments"]);
        }
        self.recorder.usage(self.usage.take());
    }
}
