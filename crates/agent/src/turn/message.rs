//! Messages of a turn: their token counts and the answer they contain.

use protocol::Timestamp;
use protocol::message::{TurnItem, TurnMessage};
use provider::{Block, Message, MessageRole};
use store::StoredItem;
use tokens::{Counter, Encoding};

/// Separator between the texts of different rounds.
pub(crate) const SEPARATOR: &str = "\n\n";
/// Tokens of a message besides its text.
const TOKENS_A_MESSAGE: usize = 4;

/// Returns the messages among a turn's items, with the times they were stored.
pub(crate) fn messages(items: Vec<StoredItem>) -> Vec<(TurnMessage, Timestamp)> {
    let messages = items.into_iter().filter_map(|stored| match stored.item {
        TurnItem::Message(message) => Some((message, stored.created_at)),
        TurnItem::Context(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => None,
    });
    messages.collect()
}

/// Estimates the tokens of a message as it is sent, including reminders.
pub(crate) fn sent_tokens(counter: &Counter, message: &TurnMessage) -> usize {
    let reminders = message.reminders().map(|reminder| counter.count(Encoding::Cl100k, &reminder.render()));
    // Notes and reminders become text blocks of the message when it is sent, so they count as well.
    let notes = message.notes.iter().map(|note| counter.count(Encoding::Cl100k, &note.text));
    reminders.sum::<usize>() + notes.sum::<usize>() + message_tokens(counter, &message.message)
}

/// Estimates the tokens of a message.
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

/// Joins the texts of a model into its answer. A text that was cut off continues in the next message.
pub(crate) fn answer<'a>(messages: impl IntoIterator<Item = &'a TurnMessage>) -> Option<String> {
    let mut whole = String::new();
    let mut joint = "";
    for own in messages.into_iter().filter(|own| has_text(own)) {
        whole += joint;
        whole += &own.message.text();
        joint = if own.cut { "" } else { SEPARATOR };
    }
    (!whole.is_empty()).then_some(whole)
}

/// Returns the separator between the answer so far and the next text.
pub(crate) fn separator_after<'a>(messages: impl IntoIterator<Item = &'a TurnMessage>) -> &'static str {
    match messages.into_iter().filter(|own| has_text(own)).last() {
        Some(last) if !last.cut => SEPARATOR,
        _ => "",
    }
}

/// Returns true if the model produced text. Whitespace alone is not an answer.
fn has_text(own: &TurnMessage) -> bool {
    own.message.role == MessageRole::Assistant && !own.message.text().trim().is_empty()
}
