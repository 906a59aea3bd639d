//! Taking texts out of a message that has been sent, where it is known what carried them.

use crate::message::{Block, MessageNote, TurnMessage};

/// What a call is said to have been given.
const NO_ARGUMENTS: &str = "{}";

/// What stands in the place of texts that are taken out.
#[derive(Debug, Clone, Copy)]
pub struct Redaction {
    /// In the place of a note, after its heading.
    pub note: &'static str,
    /// In the place of a call's result.
    pub result: &'static str,
}

/// How much of a message was replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Notes.
    pub notes: u64,
    /// Calls and results.
    pub blocks: u64,
}

impl TurnMessage {
    /// Replaces notes, and what was given to calls and answered by them. All else stays, and stays in its place.
    pub fn redact(
        &mut self,
        words: Redaction,
        is_note: impl Fn(&MessageNote) -> bool,
        is_call: impl Fn(&str) -> bool,
    ) -> Redacted {
        let mut redacted = Redacted::default();
        for note in self.notes.iter_mut().filter(|note| is_note(note)) {
            let heading = note.text.lines().next().filter(|line| line.starts_with("## ")).unwrap_or_default();
            note.text = format!("{heading}\n{}", words.note).trim_start().to_owned();
            redacted.notes += 1;
        }
        for block in &mut self.message.blocks {
            match block {
                Block::ToolCall(call) if is_call(&call.id) => {
                    call.arguments = NO_ARGUMENTS.to_owned();
                    redacted.blocks += 1;
                }
                Block::ToolResult(result) if is_call(&result.call_id) => {
                    result.blocks = vec![words.result.to_owned()];
                    redacted.blocks += 1;
                }
                _ => {}
            }
        }
        redacted
    }
}
