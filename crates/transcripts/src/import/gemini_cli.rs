//! Gemini CLI: messages with patches; a patch can replace the whole conversation.

use std::collections::HashSet;
use std::path::Path;

use protocol::DeliveryTime;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{content_text, context_sections, text};
use crate::event::{InstructionText, Layer, Origin, Remainder};
use crate::lines;
use crate::model::{ReadError, RecordedTexts};
use crate::recorder::{Recorder, texts_of};

/// Answer that follows the summary of a compaction.
const COMPACTED: &str = "Got it. Thanks for the additional context!";
/// Messages at the beginning of a list in which that answer can be.
const HEAD: usize = 4;
/// Largest session in one JSON object that is read.
const MAX_WHOLE: u64 = 16 * 1024 * 1024;
/// Line of the first message before the working directory.
const DIRECTORIES: &str = "- **Workspace Directories:**\n  - ";

#[derive(Deserialize)]
struct Set<'a> {
    #[serde(borrow, rename = "$set")]
    set: &'a RawValue,
}

/// Reads a session, or a subagent's file.
pub(crate) fn read(path: &Path, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    recorder.header.recorded = RecordedTexts { start: true, home: false, nested: true };
    let mut reader =
        Reader { recorder, seen: HashSet::new(), calls: HashSet::new(), is_compacted: false, starts: 0 };
    let mut problems = lines::Problems::default();
    if path.extension().is_some_and(|extension| extension == "json") {
        reader.whole(path);
    } else {
        lines::read(path, &mut problems, |line| reader.line(line))?;
    }
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    if recorder.header.parent.is_none() {
        // Subagents lie in a directory with the id of their session.
        let directory = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        recorder.header.parent = directory.filter(|name| *name != "chats").map(str::to_owned);
    }
    Ok(())
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    /// Ids of messages that were counted. A record with a known id replaces the earlier one.
    seen: HashSet<String>,
    /// Ids of calls that were counted. One record can collect the calls of several steps.
    calls: HashSet<String>,
    is_compacted: bool,
    starts: u64,
}

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        if line.starts_with(b"{\"$set\"") {
            let Ok(Set { set }) = serde_json::from_slice::<Set<'_>>(line) else { return false };
            // Most patches only move the time of the last change.
            if set.get().len() > 200 || set.get().contains("messages") {
                let Ok(set) = serde_json::from_str::<Value>(set.get()) else { return false };
                if let Some(messages) = set.get("messages").and_then(Value::as_array) {
                    self.replace(messages);
                }
            }
            return true;
        }
        let Ok(record) = serde_json::from_slice::<Value>(line) else { return false };
        if record.get("sessionId").is_some() {
            self.header(&record);
        } else if record.get("type").is_some() {
            self.recorder.at_text(record.get("timestamp").and_then(Value::as_str));
            self.message(&record);
        } else {
            self.recorder.problems.unknown += 1;
        }
        true
    }

    /// Reads a session of versions that wrote one JSON object.
    fn whole(&mut self, path: &Path) {
        let session = crate::sources::file_of_at_most(path, MAX_WHOLE);
        let Some(session) = session.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else {
            self.recorder.problems.broken += 1;
            return;
        };
        self.header(&session);
        for message in session["messages"].as_array().into_iter().flatten() {
            self.recorder.at_text(message.get("timestamp").and_then(Value::as_str));
            self.message(message);
        }
    }

    fn header(&mut self, record: &Value) {
        self.recorder.at_text(record.get("startTime").and_then(Value::as_str));
        let header = &mut self.recorder.header;
        header.id = text(record, "sessionId").to_owned();
        let directory = record.pointer("/directories/0").and_then(Value::as_str);
        if let (None, Some(directory)) = (&header.cwd, directory) {
            header.cwd = Some(directory.into());
        }
        // The header is repeated at each start, at the first one even twice.
        self.starts += 1;
        self.recorder.start(self.starts > 2);
    }

    fn message(&mut self, record: &Value) {
        let id = text(record, "id").to_owned();
        match text(record, "type") {
            "user" if self.seen.insert(id.clone()) => {
                let responses: Vec<&Value> = responses(&record["content"]).collect();
                if responses.is_empty() {
                    self.recorder.user(|| content_text(&record["content"]));
                    self.note_directory(&record["content"]);
                } else {
                    for response in responses {
                        self.recorder.result(text(response, "id"), || texts_of(&response["response"]));
                    }
                }
                for block in sections(&record["content"], DeliveryTime::Start) {
                    self.recorder.instructions(block);
                }
            }
            "gemini" => self.answer(record, id),
            // Notes to the user never reach the model.
            "user" | "info" | "warning" | "error" => {}
            _ => self.recorder.problems.unknown += 1,
        }
    }

    fn answer(&mut self, record: &Value, id: String) {
        let calls = record["toolCalls"].as_array().into_iter().flatten();
        let new: Vec<&Value> = calls.filter(|call| self.calls.insert(text(call, "id").to_owned())).collect();
        let is_new = self.seen.insert(id);
        let answer = content_text(&record["content"]);
        if (is_new && !answer.is_empty()) || !new.is_empty() {
            self.recorder.close();
        }
        if is_new && !answer.is_empty() {
            self.recorder.assistant(|| answer);
        }
        for call in &new {
            self.recorder.call(text(call, "id"), text(call, "name"), &call["args"]);
        }
        if is_new {
            self.recorder.usage(record.pointer("/tokens/input").and_then(Value::as_u64));
        }
    }

    fn replace(&mut self, messages: &[Value]) {
        let is_compacted =
            messages.iter().take(HEAD).any(|message| texts_of(&message["content"]).starts_with(COMPACTED));
        if is_compacted && !self.is_compacted {
            self.recorder.compaction(Remainder::Within(texts_of(&Value::from(messages.to_vec()))));
        }
        self.is_compacted = is_compacted;
        let mut texts = Vec::new();
        for message in messages {
            // Messages that the list introduces count; those that were there before have been counted.
            let is_new = self.seen.insert(text(message, "id").to_owned());
            let when = if self.starts > 2 { DeliveryTime::Resume } else { DeliveryTime::Start };
            texts.extend(sections(&message["content"], when));
            let calls = message["toolCalls"].as_array().into_iter().flatten();
            for call in calls {
                texts.extend(sections(&call["result"], DeliveryTime::Reading));
            }
            if is_new {
                self.recorder.at_text(message.get("timestamp").and_then(Value::as_str));
                let responses: Vec<&Value> = responses(&message["content"]).collect();
                for response in &responses {
                    self.recorder.result(text(response, "id"), || texts_of(&response["response"]));
                }
                match text(message, "type") {
                    _ if !responses.is_empty() => {}
                    "user" => {
                        self.recorder.user(|| content_text(&message["content"]));
                        self.note_directory(&message["content"]);
                    }
                    _ => {
                        self.recorder.close();
                        self.recorder.assistant(|| content_text(&message["content"]));
                    }
                }
            }
        }
        self.recorder.replaced(texts);
    }

    fn note_directory(&mut self, content: &Value) {
        if self.recorder.header.cwd.is_none() {
            let text = content_text(content);
            let after = text.split_once(DIRECTORIES).map(|(_, after)| after);
            let line = after.and_then(|after| after.lines().next());
            self.recorder.header.cwd = line.map(|line| line.trim().into());
        }
    }
}

/// Returns the responses of tools in a message.
fn responses(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten().filter_map(|part| part.get("functionResponse"))
}

/// Returns the instruction texts in a message or a result. Texts of results were loaded by reading.
fn sections(content: &Value, when: DeliveryTime) -> Vec<InstructionText> {
    let parts = content.as_array().into_iter().flatten();
    let mut found = Vec::new();
    for part in parts {
        let (text, when) = match part.get("functionResponse") {
            Some(response) => (texts_of(&response["response"]), DeliveryTime::Reading),
            None => (text(part, "text").to_owned(), when),
        };
        found.extend(context_sections(&text).into_iter().map(|(path, text)| InstructionText {
            path: Some(path.into()),
            text,
            when,
            layer: Layer::Conversation,
            origin: Origin::File,
            record: None,
        }));
    }
    found
}
