//! Messages: what was said, called and answered, in no provider's words.
//!
//! They are kept and replayed as history, so they serialise; what a provider wants to see again unchanged (its
//! reasoning) is carried as a value that only its adapter looks into.

use instructions::{FileRead, Told, neutralise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::round::RoundOutcome;
use crate::turn::ExplainedHistory;
use crate::{CallEffects, MessageRole, Reminder, ToolCall};

/// Which API a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Openai,
    /// Chat Completions, as Ollama, vLLM, llama.cpp, OpenRouter and many others speak it.
    OpenaiCompatible,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: MessageRole,
    /// What, in order.
    pub blocks: Vec<Block>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A tool is called.
    ToolCall(ToolCall),
    /// A tool has answered.
    ToolResult(ToolResult),
    /// The model has thought.
    Reasoning(Reasoning),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The texts of the answer, and what was appended to it.
    pub blocks: Vec<String>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// What a model thought, to be sent back to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// Whose value it is; another kind of provider does not get it.
    pub kind: ProviderKind,
    /// The model that was asked; signatures are worth nothing to another.
    pub model: String,
    /// What may be shown of it; empty when the provider keeps it to itself.
    pub text: String,
    /// The provider's own block, signature and all. Only its adapter looks into it.
    pub value: Value,
}

impl Message {
    /// A user's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, blocks: vec![Block::text(text)] }
    }

    /// A model's message.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: MessageRole::Assistant, blocks }
    }

    /// The results of the calls of one message; all of them belong into one.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: MessageRole::Tool, blocks: results.into_iter().map(Block::ToolResult).collect() }
    }

    /// Its text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Its tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ToolResult {
    /// A result of one text.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), blocks: vec![text.into()], is_error: false }
    }

    /// The same as a failure.
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// One thing that is kept of a turn, in its place.
///
/// People are shown a [`crate::turn::TurnStep`] instead: without a provider's own reasoning, and with reminders rendered
/// beside what they belong to.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnItem {
    /// Something that was said, called or answered.
    Message(TurnMessage),
    /// What was sent of earlier turns, for whoever asks why.
    Context(ExplainedHistory),
    /// How a round was answered; before the answer itself.
    Round(RoundOutcome),
}

/// A message as it is kept. It is sent as [`TurnMessage::as_sent`] has it, now and in every later turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnMessage {
    /// What is said, called and answered.
    pub message: Message,
    /// What the model is told besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<AttachedReminder>,
    /// Texts of ours that stand at its end. They are apart from the message so that people are shown what was said, and
    /// so that a later turn knows what the request says already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<MessageNote>,
    /// The instruction files whose whole text is in its results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileRead>,
    /// What its calls did besides answering, of those that did anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<AttachedEffects>,
    /// Whether the text of an answer reached its maximum length before its end; the next answer goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What a call did besides answering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedEffects {
    /// The call.
    pub call_id: String,
    /// What it did.
    #[serde(flatten)]
    pub effects: CallEffects,
}

/// A text of ours at the end of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageNote {
    /// Which section or note it is.
    pub id: String,
    /// The text, heading included.
    pub text: String,
    /// Whose own memory is in it, if anybody's: turns of others are not sent it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl MessageNote {
    /// A note that is for everybody.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), owner: None }
    }
}

/// A reminder, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachedReminder {
    /// The call at the end of whose result it stands; none: after what the user says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The reminder.
    pub reminder: Reminder,
}

impl TurnMessage {
    /// A message that carries no reminders.
    pub fn new(message: Message) -> Self {
        let (reminders, notes, reads, effects) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { message, reminders, notes, reads, effects, cut: false }
    }

    /// The message that opens a turn: what the user says, reminders, and what is of this turn alone.
    pub fn opening(input: &str, reminder: Option<Reminder>, notes: Vec<MessageNote>) -> Self {
        let reminders = reminder.map(|reminder| AttachedReminder { call_id: None, reminder });
        let reminders = reminders.into_iter().collect();
        // Whoever pastes or pipes a text has not always read it.
        Self { reminders, notes, ..Self::new(Message::user(neutralise(input))) }
    }

    /// A message in which nobody but Foreword speaks.
    pub fn of_notes(notes: Vec<MessageNote>) -> Self {
        let message = Message { role: MessageRole::User, blocks: Vec::new() };
        Self { notes, ..Self::new(message) }
    }

    /// The message as a model reads it, reminders rendered.
    pub fn as_sent(&self) -> Message {
        let mut message = self.message.clone();
        for block in &mut message.blocks {
            if let Block::ToolResult(ToolResult { call_id, blocks, .. }) = block {
                let own = self.reminders.iter().filter(|it| it.call_id.as_ref() == Some(call_id));
                blocks.extend(own.map(|attached| attached.reminder.render()));
            }
        }
        let others = self.reminders.iter().filter(|attached| attached.call_id.is_none());
        let others = others.map(|attached| Block::text(attached.reminder.render()));
        let after = message.blocks.len().min(1);
        message.blocks.splice(after..after, others);
        if !self.notes.is_empty() {
            let notes: Vec<&str> = self.notes.iter().map(|note| note.text.as_str()).collect();
            message.blocks.push(Block::text(notes.join("\n\n")));
        }
        message
    }

    /// What it tells of instruction files: results come before what is appended to them.
    pub fn told(&self) -> impl Iterator<Item = Told<'_>> {
        self.reads.iter().map(Told::Read).chain(self.reminders().map(Told::Reminder))
    }

    /// The reminders it carries.
    pub fn reminders(&self) -> impl Iterator<Item = &Reminder> {
        self.reminders.iter().map(|attached| &attached.reminder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed(remedy: &str) -> Reminder {
        Reminder::ToolOutputTrimmed { removed_bytes: 1, removed_lines: 1, remedy: remedy.to_owned() }
    }

    #[test]
    fn reminders_stand_at_the_end_of_their_own_result() {
        let message = Message::results([ToolResult::new("1", "one"), ToolResult::new("2", "two")]);
        let attached = |call_id: &str| AttachedReminder {
            call_id: Some(call_id.to_owned()),
            reminder: trimmed(call_id),
        };
        let entry = TurnMessage { reminders: vec![attached("2")], ..TurnMessage::new(message) };
        let sent = entry.as_sent();
        let results: Vec<&ToolResult> = sent
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolResult(result) => Some(result),
                _ => None,
            })
            .collect();
        assert_eq!(results[0].blocks, ["one"]);
        assert_eq!(results[1].blocks, ["two".to_owned(), trimmed("2").render()]);
    }

    #[test]
    fn what_is_of_the_turn_alone_stands_last_in_its_opening() {
        let notes = ["## Memory\nitem", "## Extra\nnow"];
        let notes = notes.map(|text| MessageNote::new("note", text));
        let sent = TurnMessage::opening("do it", Some(trimmed("x")), notes.to_vec()).as_sent();
        let texts: Vec<String> = sent
            .blocks
            .iter()
            .map(|block| match block {
                Block::Text { text } => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        let last = "## Memory\nitem\n\n## Extra\nnow".to_owned();
        assert_eq!(texts, ["do it".to_owned(), trimmed("x").render(), last]);
    }
}
