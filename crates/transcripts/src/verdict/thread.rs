//! Verdicts about the gateway's own threads, whose records contain everything that the model received.

use std::path::{Path, PathBuf};

use instructions::FileSettings;
use protocol::message::{Block, TurnMessage};
use protocol::{DeliveryTime, MessageRole, Reminder, ReminderFile, Timestamp, WhyReport};
use serde_json::Value;

use crate::agent::TranscriptAgent;
use crate::digest::{Digest, Digester, Search};
use crate::event::{InstructionText, Layer, Origin, Remainder};
use crate::model::{RecordedTexts, TranscriptHeader};
use crate::recorder::Recorder;
use crate::verdict::completion::complete;
use crate::verdict::judge::judge;
use crate::verdict::rule::{Files, Reach};
use crate::verdict::why::WhyError;

/// Line before the text of a file.
const FILE: &str = "Instructions from: ";
const CONTEXT: (&str, &str) = ("<agents_context", "</agents_context>");
const DOCUMENT: (&str, &str) = ("<AGENTS_MD>\n", "\n</AGENTS_MD>");
/// Path of the document that applies to a thread, which is not a file.
pub const DOCUMENT_PATH: &str = "document:AGENTS.md";

/// A thread with its turns.
#[derive(Debug, Clone)]
pub struct ThreadRecord {
    pub id: String,
    pub title: String,
    /// Directory of the turns; `None` if the thread has none.
    pub cwd: Option<PathBuf>,
    pub created_at: Timestamp,
    /// Turns, oldest first.
    pub turns: Vec<ThreadTurn>,
}

/// A turn of a thread.
#[derive(Debug, Clone)]
pub struct ThreadTurn {
    pub ordinal: u64,
    pub at: Timestamp,
    /// The prompt; `None` if its text is no longer kept.
    pub prompt: Option<String>,
    /// Ordinal of the last turn whose messages were not sent.
    pub left_out_through: u64,
    pub messages: Vec<TurnMessage>,
    /// Tokens of the last request; `None` if unknown.
    pub input_tokens: Option<u64>,
}

/// Question about a thread.
#[derive(Debug)]
pub struct ThreadQuestion<'a> {
    pub rule: &'a str,
    pub search: Option<&'a Search>,
    /// Directory of the workspace; `None` if it has none.
    pub root: Option<&'a Path>,
    /// Text of the document that applies to the thread.
    pub document: Option<String>,
    pub settings: &'a FileSettings,
}

/// Answers why the model of a thread ignored a rule.
pub fn why_thread(record: &ThreadRecord, question: &ThreadQuestion<'_>) -> Result<WhyReport, WhyError> {
    let cwd = record.cwd.as_deref().or(question.root).unwrap_or(Path::new("/"));
    let mut files = match question.root {
        Some(root) => Files::find(root, cwd, question.settings, Reach::InstructionFiles)?,
        None => Files::none(cwd),
    };
    if let Some(document) = &question.document {
        files.add(PathBuf::from(DOCUMENT_PATH), document.clone());
    }
    let rule = files.select(question.rule, cwd)?;
    let completed = complete(digest(record, question.search), question.settings, None);
    let session = judge(&completed, &rule, question.search.is_some());
    Ok(WhyReport { rule: rule.line, sessions: vec![session] })
}

fn digest(record: &ThreadRecord, search: Option<&Search>) -> Digest {
    let mut digester = Digester::new(search);
    let mut recorder = Recorder::new(&mut digester);
    recorder.header = TranscriptHeader {
        id: record.id.clone(),
        title: Some(record.title.clone()),
        cwd: record.cwd.clone(),
        recorded: RecordedTexts {
            start: record.turns.iter().all(|turn| turn.prompt.is_some()),
            ..RecordedTexts::ALL
        },
        ..TranscriptHeader::default()
    };
    recorder.at(Some(record.created_at));
    recorder.start(false);
    let mut left_out_through = 0;
    let mut prompt: Option<&String> = None;
    for turn in &record.turns {
        recorder.at(Some(turn.at));
        if turn.left_out_through > left_out_through {
            left_out_through = turn.left_out_through;
            let kept =
                record.turns.iter().map(|turn| turn.ordinal).filter(|ordinal| *ordinal > left_out_through);
            recorder.compaction(Remainder::Records(kept.map(|ordinal| ordinal.to_string()).collect()));
        }
        // The frozen start is the same in most turns, and is delivered once.
        if turn.prompt.as_ref() != prompt {
            prompt = turn.prompt.as_ref();
            recorder.removed(Layer::System);
            for (path, text) in turn.prompt.iter().flat_map(|prompt| prompt_files(prompt)) {
                recorder.instructions(instructions(
                    path,
                    text,
                    DeliveryTime::Start,
                    Layer::System,
                    turn.ordinal,
                ));
            }
        }
        for message in &turn.messages {
            add(&mut recorder, message, turn.ordinal);
        }
        recorder.usage(turn.input_tokens);
    }
    let Recorder { header, .. } = recorder;
    digester.finish(TranscriptAgent::Foreword, header, Vec::new())
}

fn add(recorder: &mut Recorder<'_>, message: &TurnMessage, ordinal: u64) {
    let blocks = &message.message.blocks;
    match message.message.role {
        MessageRole::User => recorder.user(|| message.message.text()),
        MessageRole::Assistant => {
            recorder.close();
            for block in blocks {
                match block {
                    Block::Text { text } => recorder.assistant(|| text.clone()),
                    Block::ToolCall(call) => {
                        let input = serde_json::from_str(&call.arguments)
                            .unwrap_or_else(|_| Value::from(call.arguments.clone()));
                        recorder.call(&call.id, &call.name, &input);
                    }
                    Block::ToolResult(_) | Block::Reasoning(_) => {}
                }
            }
        }
        MessageRole::Tool => {
            for block in blocks {
                if let Block::ToolResult(result) = block {
                    recorder.result(&result.call_id, || result.blocks.join("\n"));
                }
            }
        }
    }
    for attached in &message.reminders {
        let (files, when) = match &attached.reminder {
            Reminder::AgentsResolvePaths { files, .. } => (files, DeliveryTime::Reminder),
            Reminder::SessionResumeDiff { files, .. } => (files, DeliveryTime::Resume),
            Reminder::ToolOutputTrimmed { .. } | Reminder::PermissionDecision { .. } => continue,
        };
        for ReminderFile { path, block, .. } in files {
            // A path alone announces a file, and delivers nothing.
            if let Some(block) = block {
                let text = block.split_once('\n').filter(|(line, _)| line.starts_with(FILE));
                let text = text.map_or(block.as_str(), |(_, text)| text);
                let layer = Layer::Conversation;
                recorder.instructions(instructions(path.clone(), text.to_owned(), when, layer, ordinal));
            }
        }
    }
}

fn instructions(
    path: PathBuf,
    text: String,
    when: DeliveryTime,
    layer: Layer,
    ordinal: u64,
) -> InstructionText {
    let record = Some(ordinal.to_string());
    InstructionText { path: Some(path), text, when, layer, origin: Origin::File, record }
}

/// Returns the files and the document in a prompt, as path and text.
fn prompt_files(prompt: &str) -> Vec<(PathBuf, String)> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    if let Some((_, rest)) = prompt.split_once(CONTEXT.0) {
        // Tags inside the files are neutralized, so the first closing tag is the real one.
        let body = &rest[..rest.find(CONTEXT.1).unwrap_or(rest.len())];
        for line in body.lines().skip(1) {
            match (line.strip_prefix(FILE), files.last_mut()) {
                (Some(path), _) if Path::new(path).is_absolute() => files.push((path.into(), String::new())),
                (_, Some((_, text))) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (_, None) => {}
            }
        }
    }
    let document =
        prompt.split_once(DOCUMENT.0).map(|(_, rest)| &rest[..rest.find(DOCUMENT.1).unwrap_or(rest.len())]);
    files.extend(document.map(|text| (PathBuf::from(DOCUMENT_PATH), text.to_owned())));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_document_are_found_in_a_prompt() {
        let prompt = "Intro\n<agents_context scope=\"initial\">\nInstructions from: /r/AGENTS.md\n# R\n\n- one\n\n\
                      Instructions from: /r/a/AGENTS.md\n- two\n</agents_context>\n\n<AGENTS_MD>\n- three\n</AGENTS_MD>";
        let found = prompt_files(prompt);
        let expected =
            [("/r/AGENTS.md", "# R\n\n- one\n\n"), ("/r/a/AGENTS.md", "- two\n"), (DOCUMENT_PATH, "- three")];
        assert_eq!(found, expected.map(|(path, text)| (PathBuf::from(path), text.to_owned())));
    }
}
