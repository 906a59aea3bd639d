//! Ids and names of calls that every provider accepts.
//!
//! Decisions, results and reminders refer to a call by its id, so ids must be unique within a request. Some servers
//! restart their numbering in every answer, or give all calls the same id. Approving one call must never approve
//! another.

use std::collections::HashSet;

use provider::{Block, Message};

use protocol::message::TurnMessage;

/// Maximum length of an id or name.
const MAX_CHARS: usize = 64;

/// Replaces names that cannot be sent back, and ids that are invalid or already used in the request; all others stay.
pub(crate) fn make_unique<'a>(message: &mut Message, earlier: impl Iterator<Item = &'a TurnMessage>) {
    let calls = earlier.flat_map(|entry| entry.message.tool_calls());
    let mut taken: HashSet<String> = calls.map(|call| call.id.clone()).collect();
    for block in &mut message.blocks {
        let Block::ToolCall(call) = block else { continue };
        if !is_usable(&call.name) {
            call.name = usable_name(&call.name);
        }
        if !is_usable(&call.id) || taken.contains(&call.id) {
            // Extend the server's id instead of inventing one, so that logs of both sides can still be matched.
            let base = if is_usable(&call.id) { call.id.as_str() } else { "call" };
            let free = (2..).map(|number| format!("{base}_{number}")).find(|id| !taken.contains(id));
            call.id = free.unwrap_or_default();
        }
        taken.insert(call.id.clone());
    }
}

/// Replaces invalid characters. The result matches no tool of ours, so the model is shown the valid names.
fn usable_name(name: &str) -> String {
    let known = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let name = name.chars().map(|character| if known(character) { character } else { '_' });
    let name: String = name.take(MAX_CHARS).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Returns true if every provider accepts the id.
fn is_usable(id: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    !id.is_empty() && id.len() <= MAX_CHARS && id.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use provider::ToolCall;

    use super::*;

    fn answer(ids: &[&str]) -> Message {
        let call = |id: &&str| {
            Block::ToolCall(ToolCall {
                id: (*id).to_owned(),
                name: "t".to_owned(),
                arguments: "{}".to_owned(),
            })
        };
        Message::assistant(ids.iter().map(call).collect())
    }

    #[test]
    fn invalid_call_names_are_replaced() {
        for (name, expected) in [
            ("read_file", "read_file"),
            ("functions.read_file", "functions_read_file"),
            ("", "unnamed"),
            ("ü", "_"),
        ] {
            let call = ToolCall { id: "a".to_owned(), name: name.to_owned(), arguments: "{}".to_owned() };
            let mut message = Message::assistant(vec![Block::ToolCall(call)]);
            make_unique(&mut message, std::iter::empty());
            assert_eq!(message.tool_calls().next().unwrap().name, expected);
        }
        assert_eq!(usable_name(&"x".repeat(300)).len(), MAX_CHARS);
    }

    #[test]
    fn call_ids_are_unique_within_a_request() {
        let earlier = [TurnMessage::new(answer(&["a", "b_2"]))];
        let mut message = answer(&["a", "b", "b", "", "with space", "c", &"x".repeat(100)]);
        make_unique(&mut message, earlier.iter());
        let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a_2", "b", "b_3", "call_2", "call_3", "c", "call_4"]);
    }
}
