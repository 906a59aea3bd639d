//! One stored message of a turn, with the reminders it carries as values.

use instructions::Reminder;
use protocol::Timestamp;
use provider::{Block, Message, MessageRole, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{NewTurnItem, TurnItem};
use tokens::{Counter, Encoding};

use crate::error::AgentError;

/// The kind of turn item that holds a message.
const MESSAGE: &str = "message";
/// Stands between what was said in different rounds.
pub(crate) const JOINT: &str = "\n\n";
/// What a message costs besides its text.
const TOKENS_A_MESSAGE: usize = 4;

/// A message as it is kept. It is sent as [`Entry::as_sent`] has it, now and in every later turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What is said, called and answered.
    pub(crate) message: Message,
    /// What the model is told besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reminders: Vec<Attached>,
}

/// A reminder, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attached {
    /// The call at the end of whose result it stands; none: after what the user says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
    /// The reminder.
    pub(crate) reminder: Reminder,
}

impl Entry {
    pub(crate) fn new(message: Message) -> Self {
        Self { message, reminders: Vec::new() }
    }

    /// The message that opens a turn: what the user says, reminders, and what is of this turn alone.
    pub(crate) fn opening(input: &str, reminder: Option<Reminder>, turn_text: &str) -> Self {
        let mut message = Message::user(input);
        if !turn_text.is_empty() {
            message.blocks.push(Block::text(turn_text));
        }
        let reminders = reminder.map(|reminder| Attached { call_id: None, reminder });
        Self { message, reminders: reminders.into_iter().collect() }
    }

    /// The message as a model reads it, reminders rendered.
    pub(crate) fn as_sent(&self) -> Message {
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
        message
    }

    /// The reminders it carries.
    pub(crate) fn reminders(&self) -> impl Iterator<Item = &Reminder> {
        self.reminders.iter().map(|attached| &attached.reminder)
    }

    /// Tokens of the message as it is sent, an estimate.
    pub(crate) fn tokens(&self, counter: &Counter) -> usize {
        let reminders = self.reminders().map(|reminder| counter.count(Encoding::Cl100k, &reminder.render()));
        reminders.sum::<usize>() + message_tokens(counter, &self.message)
    }

    pub(crate) fn item(&self) -> Result<NewTurnItem, AgentError> {
        let content = serde_json::to_value(self).map_err(unreadable)?;
        Ok(NewTurnItem { kind: MESSAGE.to_owned(), content })
    }

    /// The messages among a turn's items, and when they were kept.
    pub(crate) fn all(items: Vec<TurnItem>) -> Result<Vec<(Self, Timestamp)>, AgentError> {
        let entries = items.into_iter().map(|item| {
            let at = item.created_at;
            Ok(Self::of(item)?.map(|entry| (entry, at)))
        });
        entries.filter_map(Result::transpose).collect()
    }

    /// The message that an item holds, if it holds one.
    pub(crate) fn of(item: TurnItem) -> Result<Option<Self>, AgentError> {
        Self::read(&item.kind, item.content)
    }

    /// The same, of an item that need not be stored yet.
    pub(crate) fn read(kind: &str, content: Value) -> Result<Option<Self>, AgentError> {
        if kind != MESSAGE {
            return Ok(None);
        }
        serde_json::from_value(content).map(Some).map_err(unreadable)
    }
}

/// Tokens of a message, an estimate.
pub(crate) fn message_tokens(counter: &Counter, message: &Message) -> usize {
    let count = |text: &str| counter.count(Encoding::Cl100k, text);
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text { text } => count(text),
        Block::ToolCall(call) => count(&call.name) + count(&call.arguments),
        Block::ToolResult(result) => result.blocks.iter().map(|text| count(text)).sum(),
        Block::Reasoning(reasoning) => count(&reasoning.text),
        _ => 0,
    });
    blocks.sum::<usize>() + TOKENS_A_MESSAGE
}

/// What a turn's model has said, one text a message.
pub(crate) fn answer<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Option<String> {
    let texts: Vec<String> = entries
        .into_iter()
        .filter(|entry| entry.message.role == MessageRole::Assistant)
        .map(|entry| entry.message.text())
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join(JOINT))
}

fn unreadable(error: serde_json::Error) -> AgentError {
    AgentError::Stored { what: "message", message: error.to_string() }
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
        let attached =
            |call_id: &str| Attached { call_id: Some(call_id.to_owned()), reminder: trimmed(call_id) };
        let entry = Entry { message, reminders: vec![attached("2")] };
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
        let sent = Entry::opening("do it", Some(trimmed("x")), "## Extra\nnow").as_sent();
        let texts: Vec<String> = sent
            .blocks
            .iter()
            .map(|block| match block {
                Block::Text { text } => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["do it".to_owned(), trimmed("x").render(), "## Extra\nnow".to_owned()]);
    }
}
