//! Qwen Code: one file for each session and each subagent, without instruction texts.

use std::borrow::Cow;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{content_text, text};
use crate::event::Remainder;
use crate::lines;
use crate::model::ReadError;
use crate::recorder::{Recorder, texts_of};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
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
    #[serde(borrow, default)]
    agent_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    system_payload: Option<&'a RawValue>,
}

/// Reads a session, or a subagent's file.
pub(crate) fn read(path: &Path, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    let mut starts = process_starts(path);
    starts.sort_unstable();
    let mut reader = Reader { recorder, starts, is_started: false };
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| reader.line(line))?;
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    Ok(())
}

/// Returns the starts of the session's processes in milliseconds, from the log of their usage.
fn process_starts(path: &Path) -> Vec<i64> {
    let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else { return Vec::new() };
    // The log lies in the agent's directory: DIRECTORY/projects/SLUG/chats/ID.jsonl.
    let Some(log) = path.ancestors().nth(4).map(|home| home.join("usage_record.jsonl")) else {
        return Vec::new();
    };
    let mut starts = Vec::new();
    let mut problems = lines::Problems::default();
    let _ = lines::read(&log, &mut problems, |line| {
        if memchr::memmem::find(line, id.as_bytes()).is_some()
            && let Ok(record) = serde_json::from_slice::<Value>(line)
        {
            starts.extend(record.get("startTime").and_then(Value::as_i64));
        }
        true
    });
    starts
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    /// Starts of processes that have not been reported yet, earliest first.
    starts: Vec<i64>,
    is_started: bool,
}

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        self.recorder.at_text(line.timestamp.as_deref());
        self.note(&line);
        match line.kind.as_ref() {
            "user" | "tool_result" => self.user(&line),
            "assistant" => self.assistant(&line),
            "system" if line.subtype.as_deref() == Some("chat_compression") => {
                let payload =
                    line.system_payload.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
                let history = payload.as_ref().and_then(|payload| payload.get("compressedHistory"));
                self.recorder.compaction(Remainder::Within(history.map(texts_of).unwrap_or_default()));
            }
            "system" => {}
            _ => self.recorder.problems.unknown += 1,
        }
        true
    }

    fn note(&mut self, line: &Line<'_>) {
        let time = line.timestamp.as_deref().and_then(|time| time.parse::<protocol::Timestamp>().ok());
        let header = &mut self.recorder.header;
        if header.cwd.is_none() {
            header.cwd = line.cwd.as_deref().map(Into::into);
        }
        header.version = line.version.clone().map(Cow::into_owned).or(header.version.take());
        let session = line.session_id.clone().map(Cow::into_owned);
        match &line.agent_id {
            Some(agent) => {
                header.id = agent.clone().into_owned();
                header.parent = session.or(header.parent.take());
                header.role = line.agent_name.clone().map(Cow::into_owned).or(header.role.take());
            }
            None => header.id = session.unwrap_or_default(),
        }
        if !self.is_started {
            self.is_started = true;
            self.recorder.start(false);
            self.starts.retain(|start| time.is_none_or(|time| *start > time.milliseconds()));
        }
        let passed =
            self.starts.iter().filter(|start| time.is_some_and(|time| **start <= time.milliseconds()));
        let passed = passed.count();
        if passed > 0 {
            self.starts.drain(..passed);
            self.recorder.start(true);
        }
    }

    fn user(&mut self, line: &Line<'_>) {
        let Some(parts) = parts(line) else { return };
        let mut results = 0;
        for response in parts.iter().filter_map(|part| part.get("functionResponse")) {
            self.recorder.result(text(response, "id"), || texts_of(&response["response"]));
            results += 1;
        }
        if results == 0 {
            let texts = parts.iter().map(|part| text(part, "text"));
            let own = texts.filter(|text| !text.trim_start().starts_with("<system-reminder>"));
            let own: Vec<&str> = own.collect();
            self.recorder.user(|| own.join("\n"));
        }
    }

    fn assistant(&mut self, line: &Line<'_>) {
        self.recorder.close();
        for part in parts(line).into_iter().flatten() {
            match part.get("functionCall") {
                Some(call) => self.recorder.call(text(call, "id"), text(call, "name"), &call["args"]),
                // Thoughts are not a part of the answer.
                None if part.get("thought").and_then(Value::as_bool) == Some(true) => {}
                None => {
                    let answer = content_text(&Value::from(vec![part]));
                    self.recorder.assistant(|| answer);
                }
            }
        }
        let usage = line.usage_metadata.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        self.recorder.usage(usage.and_then(|usage| usage.get("promptTokenCount")?.as_u64()));
    }
}

fn parts(line: &Line<'_>) -> Option<Vec<Value>> {
    let message: Value = serde_json::from_str(line.message?.get()).ok()?;
    Some(message.get("parts")?.as_array()?.clone())
}
