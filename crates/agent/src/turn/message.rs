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

/// What a turn's model has said, one text a message; one that was cut off goes on in the next.
pub(crate) fn answer<'a>(messages: impl IntoIterator<Item = &'a TurnMessage>) -> Option<String> {
    let mut whole = String::new();
    let mut joint = "";
    for own in messages.into_iter().filter(|own| is_spoken(own)) {
        whole += joint;
        whole += &own.message.text();
        joint = if own.cut { "" } else { JOINT };
    }
    (!whole.is_empty()).then_some(whole)
}

/// What stands between what was said so far and what is said next.
pub(crate) fn joint_after<'a>(messages: impl IntoIterator<Item = &'a TurnMessage>) -> &'static str {
    match messages.into_iter().filter(|own| is_spoken(own)).last() {
        Some(last) if !last.cut => JOINT,
        _ => "",
    }
}

/// Whether a model says something. White space alone answers nobody.
fn is_spoken(own: &TurnMessage) -> bool {
    own.message.role == MessageRole::Assistant && !own.message.text().trim().is_empty()
}
