//! The messages of a turn: what they cost, and what they answer.

use protocol::Timestamp;
use protocol::message::{TurnItem, TurnMessage};
use provider::{Block, Message, MessageRole};
use store::StoredItem;
use tokens::{Counter, Encoding};

/// Stands between what was said in different rounds.
pub(crate) const JOINT: &str = "\n\n";
/// What a message costs besides its text.
const TOKENS_A_MESSAGE: usize = 4;

/// The messages among a turn's items, and when they were kept.
pub(crate) fn messages(items: Vec<StoredItem>) -> Vec<(TurnMessage, Timestamp)> {
    let messages = items.into_iter().filter_map(|stored| match stored.item {
        TurnItem::Message(message) => Some((message, stored.created_at)),
        TurnItem::Context(_) | TurnItem::Round(_) => None,
    });
    messages.collect()
}

/// Tokens of a message as it is sent, reminders included, an estimate.
pub(crate) fn sent_tokens(counter: &Counter, message: &TurnMessage) -> usize {
    let reminders = message.reminders().map(|reminder| counter.count(Encoding::Cl100k, &reminder.render()));
    let notes = message.notes.iter().map(|note| counter.count(Encoding::Cl100k, &note.text));
    reminders.sum::<usize>() + notes.sum::<usize>() + message_tokens(counter, &message.message)
}

/// Tokens of a message, an estimate.
pub(crate) fn message_tokens(counter: &Counter, message: &Message) -> usize {
    let count = |text: &str| counter.count(Encoding::Cl100k, text);
    let blocks = message.blocks.iter().map(|block| match block {
        Block::Text { text } => count(text),
        Block::ToolCall(call) => count(&call.name) + count(&call.arguments),
        Block::ToolResult(result) => result.blocks.iter().map(|text| count(text)).sum(),
        Block::Reasoning(reasoning) => count(&reasoning.text),
    });
    blocks.sum::<usize>() + TOKENS_A_MESSAGE
}

/// What a turn's model has said, one text a message.
pub(crate) fn answer<'a>(messages: impl IntoIterator<Item = &'a TurnMessage>) -> Option<String> {
    let texts: Vec<String> = messages
        .into_iter()
        .filter(|own| own.message.role == MessageRole::Assistant)
        .map(|own| own.message.text())
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join(JOINT))
}
