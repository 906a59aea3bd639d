//! Printing of a streamed answer: as it grows, and complete at the end.

use std::io::IsTerminal as _;

/// State of a partially printed answer.
///
/// The answer is the text of all rounds. A later round starts with an empty line that separates it from the previous text.
/// Trailing newlines are held back until more text follows, so that the answer ends with exactly one.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Text taken so far.
    text: String,
    held_line_ends: usize,
    is_line_open: bool,
    /// True if notes are printed on the same screen. The answer is then formatted for people: after a note that ended its line,
    /// no separating empty lines are added. Otherwise it is printed unchanged.
    is_among_others: bool,
}

impl Answer {
    /// Creates an answer printed to standard output, with notes on standard error.
    pub(super) fn here() -> Self {
        // Notes and the answer can only disturb each other if both streams lead to the same screen.
        let is_among_others = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        Self { is_among_others, ..Self::default() }
    }

    /// Returns the text to print once `text` is known of the answer.
    pub(super) fn take(&mut self, text: &str) -> String {
        // A text that does not continue the printed one would repeat it. The stored answer decides at the end.
        let Some(rest) = text.strip_prefix(self.text.as_str()) else { return String::new() };
        self.text.push_str(rest);
        self.feed(rest)
    }

    /// Interrupts the answer for a note. Returns true if the answer's line must be ended first.
    pub(super) fn break_line(&mut self) -> bool {
        self.is_among_others && std::mem::take(&mut self.is_line_open)
    }

    /// Returns true if the cursor is behind unfinished text on a shared screen.
    pub(super) fn has_open_line(&self) -> bool {
        self.is_among_others && self.is_line_open
    }

    /// Returns the remaining text to print at the end.
    pub(super) fn end(&mut self, answer: Option<&str>) -> String {
        let answer = answer.unwrap_or_default();
        // The stored answer usually continues the streamed text, so only the rest is printed.
        let rest = if let Some(rest) = answer.strip_prefix(self.text.as_str()) {
            self.feed(rest)
        } else if bare(&self.text).starts_with(&bare(answer)) {
            // The streamed text exceeds what the gateway could store.
            String::new()
        } else {
            // The stored answer differs from the streamed text, so it is printed in full on a new line.
            self.close_line() + &self.feed(answer)
        };
        rest + &self.close_line()
    }

    fn feed(&mut self, text: &str) -> String {
        let mut text = text;
        // After a note the text starts on a fresh line, so the empty lines that separated it from the previous
        // text are dropped.
        if self.is_among_others && !self.is_line_open {
            self.held_line_ends = 0;
            text = text.trim_start_matches('\n');
        }
        let visible = text.trim_end_matches('\n');
        let line_ends = text.len() - visible.len();
        // Newlines alone may be the end of the answer, so they are held back until more text follows.
        if visible.is_empty() {
            self.held_line_ends += line_ends;
            return String::new();
        }
        let printed = "\n".repeat(self.held_line_ends) + visible;
        self.held_line_ends = line_ends;
        self.is_line_open = true;
        printed
    }

    fn close_line(&mut self) -> String {
        self.held_line_ends = 0;
        if std::mem::take(&mut self.is_line_open) { "\n".to_owned() } else { String::new() }
    }
}

/// Removes newlines that only separate parts of the answer.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns everything that is printed while these pieces arrive, and for this stored answer.
    fn printed(pieces: &[&str], answer: Option<&str>) -> String {
        let mut taken = Answer::default();
        let mut known = String::new();
        let text: String = pieces
            .iter()
            .map(|piece| {
                known.push_str(piece);
                taken.take(&known)
            })
            .collect();
        text + &taken.end(answer)
    }

    #[test]
    fn an_answer_ends_with_exactly_one_newline() {
        assert_eq!(printed(&["Hello, ", "world."], Some("Hello, world.")), "Hello, world.\n");
        assert_eq!(printed(&["a\n", "\nb\n", "\n"], Some("a\n\nb\n\n")), "a\n\nb\n");
        assert_eq!(printed(&[], Some("not streamed\n\n")), "not streamed\n");
        assert_eq!(printed(&[], None), "");
        assert_eq!(printed(&["\n\n"], Some("")), "");
    }

    #[test]
    fn text_of_all_rounds_forms_the_answer() {
        let pieces = ["Let me ", "look.", "\n\nIt is", " 4."];
        assert_eq!(printed(&pieces, Some("Let me look.\n\nIt is 4.")), "Let me look.\n\nIt is 4.\n");
    }

    #[test]
    fn a_line_ends_once_on_a_screen() {
        let mut answer = Answer { is_among_others: true, ..Answer::default() };
        assert_eq!(answer.take("\nLet me look.\n"), "Let me look.");
        assert!(answer.break_line(), "a tool is told");
        assert!(!answer.break_line(), "and a reminder");
        assert_eq!(answer.take("\nLet me look.\n\n\n"), "");
        assert_eq!(answer.take("\nLet me look.\n\n\nIt is\n\n4."), "It is\n\n4.");
        let whole = "\nLet me look.\n\n\nIt is\n\n4.\n\nThat is all.";
        assert_eq!(answer.take(whole), "\n\nThat is all.", "nothing was told");
        assert!(answer.break_line());
        assert_eq!(answer.end(Some(whole)), "");
    }

    #[test]
    fn the_answer_is_unchanged_in_a_pipe() {
        let mut answer = Answer::default();
        assert_eq!(answer.take("Let me look."), "Let me look.");
        assert!(!answer.break_line());
        assert_eq!(answer.take("Let me look.\n\nIt is 4."), "\n\nIt is 4.");
        assert_eq!(answer.end(Some("Let me look.\n\nIt is 4.")), "\n");
    }

    #[test]
    fn missing_text_comes_from_the_stored_answer() {
        assert_eq!(printed(&["one "], Some("one two three")), "one two three\n");
        let mut answer = Answer::default();
        assert_eq!(answer.take("Let me look."), "Let me look.");
        // Another gateway runs the turn and knows less of it.
        assert_eq!(answer.take(""), "");
        assert_eq!(answer.take("Let me"), "");
        assert_eq!(answer.end(Some("Let me look. Wait.\n\nIt is 4.")), " Wait.\n\nIt is 4.\n");
    }

    #[test]
    fn text_that_was_not_stored_is_not_repeated() {
        assert_eq!(
            printed(&["Let me look.", "\n\nand so"], Some("Let me look.")),
            "Let me look.\n\nand so\n"
        );
        assert_eq!(printed(&["one"], Some("another")), "one\nanother\n");
    }

    #[test]
    fn an_interrupted_answer_ends_its_line() {
        assert_eq!(printed(&["half an ans"], None), "half an ans\n");
    }
}
