//! Redaction of forgotten texts in messages that have been sent.

use crate::message::{Block, MessageNote, TurnMessage};

/// Arguments that replace those of a redacted call.
// Providers reject calls whose arguments are not a JSON object, so an empty object stands in for the text.
const NO_ARGUMENTS: &str = "{}";

/// Replacement texts for redacted parts.
#[derive(Debug, Clone, Copy)]
pub struct Redaction {
    /// Replacement for a note, below its heading.
    pub note: &'static str,
    /// Replacement for a call's result.
    pub result: &'static str,
}

/// Number of parts that were replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Replaced notes.
    pub notes: u64,
    /// Replaced calls and results.
    pub blocks: u64,
}

impl TurnMessage {
    /// Replaces the selected notes, and arguments and results of the selected calls. Every part keeps its
    /// position.
    // Positions and ids stay as they are: providers pair each call with its result, and a removed block would
    // invalidate the rest of the stored history.
    pub fn redact(
        &mut self,
        words: Redaction,
        is_note: impl Fn(&MessageNote) -> bool,
        is_call: impl Fn(&str) -> bool,
    ) -> Redacted {
        let mut redacted = Redacted::default();
        for note in self.notes.iter_mut().filter(|note| is_note(note)) {
            // The heading stays, so that the model sees a section with a removed text instead of a sentence
            // without context.
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
