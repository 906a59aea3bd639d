//! Provider-independent messages: text, tool calls, tool results and reasoning.
//!
//! They are stored and replayed as history, so they serialize. Reasoning that a provider requires back
//! unchanged is carried as an opaque value that only its adapter reads.

use instructions::{DeliveredText, FileRead, neutralise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::round::{RoundOutcome, SentRequest};
use crate::turn::ExplainedHistory;
use crate::{CallEffects, MessageRole, Reminder, ToolCall};

/// API spoken by a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Openai,
    /// Chat Completions, as spoken by Ollama, vLLM, llama.cpp, OpenRouter and many others.
    OpenaiCompatible,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Author of the message.
    pub role: MessageRole,
    /// Parts of the message, in order.
    pub blocks: Vec<Block>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
    /// The model's reasoning.
    Reasoning(Reasoning),
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub call_id: String,
    /// Texts of the result, followed by what was appended to it.
    pub blocks: Vec<String>,
    /// True if the tool failed.
    // Some providers have no such flag, so the text of a failed result must describe the failure as well.
    #[serde(default)]
    pub is_error: bool,
}

/// A model's reasoning, kept so that it can be sent back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// Provider kind that produced it; other kinds do not receive it.
    // A thread may switch models between turns. Signed reasoning of another provider or model is rejected,
    // so both are stored beside it.
    pub kind: ProviderKind,
    /// Model that produced it; signatures are invalid for any other model.
    pub model: String,
    /// Displayable part; empty if the provider keeps it hidden.
    pub text: String,
    /// The provider's own block, including its signature. Only its adapter reads it.
    // Opaque on purpose: a signature covers the exact block, and any parsing and writing could change it.
    pub value: Value,
}

impl Message {
    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, blocks: vec![Block::text(text)] }
    }

    /// Creates a model's message.
    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: MessageRole::Assistant, blocks }
    }

    /// Creates the message that carries all results of one message's calls.
    // Providers reject a request in which the results of one message's calls are spread over several
    // messages, so there is no constructor for a single result.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: MessageRole::Tool, blocks: results.into_iter().map(Block::ToolResult).collect() }
    }

    /// Returns the text blocks, concatenated.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Block {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ToolResult {
    /// Creates a result with one text.
    pub fn new(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), blocks: vec![text.into()], is_error: false }
    }

    /// Marks the result as failed.
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// One stored item of a turn, in its position.
///
/// Clients are shown a [`crate::turn::TurnStep`] instead, which omits a provider's own reasoning and places
/// rendered reminders beside the result they belong to.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnItem {
    /// A message of the turn.
    Message(TurnMessage),
    /// The part of earlier turns that was sent, kept for `turn/explain`.
    Context(ExplainedHistory),
    /// A request, stored after its messages and before it is sent.
    Request(SentRequest),
    /// Usage of a round, stored before the round's answer.
    Round(RoundOutcome),
    /// Results that were shortened after they were stored, because the provider had rejected them as too long.
    Trimmed(TrimmedResults),
}

/// Results of earlier messages of a turn that models receive shortened from here on.
// It names lengths and no texts: a text that is stored twice would have to be forgotten twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimmedResults {
    /// The results.
    pub results: Vec<TrimmedResult>,
}

/// A shortened result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimmedResult {
    /// Id of the call.
    pub call_id: String,
    /// Bytes of its text that are left.
    pub bytes: usize,
}

/// A stored message. Models receive it as [`TurnMessage::as_sent`] renders it, in this and every later turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnMessage {
    /// The message itself.
    pub message: Message,
    /// Reminders attached to the message.
    // Empty lists are left out. Most messages have none of these, and a stored turn would otherwise consist
    // largely of empty brackets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<AttachedReminder>,
    /// Foreword's own texts at the end of the message. They are kept apart so that clients show only the
    /// original words, and so that a later turn knows which sections the request already contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<MessageNote>,
    /// Instruction files whose complete text is in the message's results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileRead>,
    /// Side effects of the message's calls, for calls that had any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<AttachedEffects>,
    /// True if the answer was cut off at its maximum length; the next answer continues it.
    // Absent in messages stored before the field existed, which is the same as false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Side effects of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedEffects {
    /// Id of the call.
    pub call_id: String,
    /// The effects.
    // Flattened: effects were stored as plain fields beside `call_id` before they had a type of their own.
    #[serde(flatten)]
    pub effects: CallEffects,
}

/// A text of Foreword's own at the end of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageNote {
    /// Id of the section or note.
    pub id: String,
    /// The text, including its heading.
    pub text: String,
    /// Owner of the personal memory in the text; turns of other users do not receive it again. Absent if it
    /// has none.
    // Threads are shared, but personal memory is not. Without the owner, a replayed turn would show it to
    // whichever user asks next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl MessageNote {
    /// Creates a note without an owner.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), owner: None }
    }
}

/// A reminder and its position in a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachedReminder {
    /// Call whose result the reminder follows; absent if it follows the user's text.
    // The id of the call survives a change in the order of the results, unlike an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The reminder.
    pub reminder: Reminder,
}

impl TurnMessage {
    /// Creates a message without attachments.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            reminders: Vec::new(),
            notes: Vec::new(),
            reads: Vec::new(),
            effects: Vec::new(),
            cut: false,
        }
    }

    /// Creates the message that opens a turn: the user's input, reminders, and notes of this turn only.
    pub fn opening(input: &str, reminder: Option<Reminder>, notes: Vec<MessageNote>) -> Self {
        let reminders = reminder.map(|reminder| AttachedReminder { call_id: None, reminder });
        let reminders = reminders.into_iter().collect();
        // Pasted or piped input may be untrusted text that its sender has not read, so it is neutralized like
        // a tool's output.
        Self { reminders, notes, ..Self::new(Message::user(neutralise(input))) }
    }

    /// Creates a message that consists only of Foreword's own notes.
    pub fn of_notes(notes: Vec<MessageNote>) -> Self {
        // The role is that of the user, because not every provider accepts system text in the middle of a
        // conversation.
        let message = Message { role: MessageRole::User, blocks: Vec::new() };
        Self { notes, ..Self::new(message) }
    }

    /// Renders the message as the model receives it, with reminders in place.
    pub fn as_sent(&self) -> Message {
        let mut message = self.message.clone();
        for block in &mut message.blocks {
            if let Block::ToolResult(ToolResult { call_id, blocks, .. }) = block {
                let own = self.reminders.iter().filter(|it| it.call_id.as_ref() == Some(call_id));
                blocks.extend(own.map(|attached| attached.reminder.render()));
            }
        }
        // Reminders without a call follow the first block, which is the user's text, and precede the notes.
        // Equal messages must render equally, or a provider's cache of the earlier turns becomes useless.
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

    /// Shortens the text of a call's result to a number of bytes, and tells the model so in a reminder.
    pub fn trim_result(&mut self, trimmed: &TrimmedResult) {
        let results = self.message.blocks.iter_mut().filter_map(|block| match block {
            Block::ToolResult(result) if result.call_id == trimmed.call_id => Some(result),
            _ => None,
        });
        let mut removed = String::new();
        for result in results {
            let text = result.blocks.concat();
            let end = text.floor_char_boundary(trimmed.bytes);
            removed.push_str(&text[end..]);
            result.blocks = vec![text[..end].to_owned()];
        }
        if removed.is_empty() {
            return;
        }
        // A file that a model has only in part does not count as delivered. It is not known which of the calls has
        // read it, so the others are announced once more than necessary.
        self.reads.clear();
        let of_call = |attached: &&mut AttachedReminder| attached.call_id.as_ref() == Some(&trimmed.call_id);
        let known =
            self.reminders.iter_mut().filter(of_call).find_map(|attached| match &mut attached.reminder {
                Reminder::ToolOutputTrimmed { removed_bytes, removed_lines, .. } => {
                    Some((removed_bytes, removed_lines))
                }
                _ => None,
            });
        let (bytes, lines) = (removed.len() as u64, removed.lines().count() as u64);
        if let Some((removed_bytes, removed_lines)) = known {
            *removed_bytes += bytes;
            *removed_lines += lines;
            return;
        }
        let reminder = Reminder::ToolOutputTrimmed {
            removed_bytes: bytes,
            removed_lines: lines,
            remedy: "The context is nearly full; ask for less at once.".to_owned(),
        };
        self.reminders.push(AttachedReminder { call_id: Some(trimmed.call_id.clone()), reminder });
    }

    /// Returns the instruction-file texts and pointers that the message delivers. Results come before the
    /// reminders appended to them.
    pub fn delivered_texts(&self) -> impl Iterator<Item = DeliveredText<'_>> {
        self.reads.iter().map(DeliveredText::Read).chain(self.reminders().map(DeliveredText::Reminder))
    }

    /// Returns the attached reminders.
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
    fn reminders_follow_their_own_result() {
        let message = Message::results([ToolResult::new("1", "one"), ToolResult::new("2", "two")]);
        let attached = |call_id: &str| AttachedReminder {
            call_id: Some(call_id.to_owned()),
            reminder: trimmed(call_id),
        };
        // Only the second result has a reminder. Attached to the first one, it would seem to explain the
        // wrong file.
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
    fn turn_notes_come_last_in_the_opening() {
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
