//! Printing of a streamed answer: delta by delta, and complete at the end.

use std::io::IsTerminal as _;

use protocol::notification::TurnDelta;

/// State of a partially printed answer.
///
/// The answer is the concatenation of the deltas of all rounds. A later round starts with an empty line that separates it from
/// the previous text. Trailing newlines are held back until more text follows, so that the answer ends with exactly one.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Deltas received so far.
    text: String,
    next_index: u64,
    /// True if a delta is missing, so that the rest must come from the stored answer.
    has_gap: bool,
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

    /// Returns the text to print for the next delta.
    pub(super) fn take(&mut self, delta: &TurnDelta) -> String {
        // Indexes are consecutive over all rounds. Text printed after a gap would look complete although its
        // middle is missing.
        if delta.index != self.next_index {
            self.has_gap = true;
        }
        if self.has_gap {
            return String::new();
        }
        self.next_index += 1;
        self.text.push_str(&delta.text);
        self.feed(&delta.text)
    }

    /// Returns the text to print for an answer that is already running. Without the index of the next delta, no deltas will
    /// arrive, and the rest is printed at the end.
    pub(super) fn join(&mut self, text: &str, next_index: Option<u64>) -> String {
        match next_index {
            Some(next_index) => self.next_index = next_index,
            None => self.has_gap = true,
        }
        self.text.push_str(text);
        self.feed(text)
    }

    /// Records that deltas may be missing from now on.
    pub(super) fn lose(&mut self) {
        self.has_gap = true;
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
        (self.held_line_ends, self.is_line_open) = (line_ends, true);
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
    use protocol::TurnId;

    fn piece(index: u64, text: &str) -> TurnDelta {
        TurnDelta { turn_id: TurnId::new(), index, text: text.to_owned() }
    }

    /// Returns everything that is printed for these deltas and this stored answer.
    fn printed(pieces: &[(u64, &str)], answer: Option<&str>) -> String {
        let mut taken = Answer::default();
        let text: String = pieces.iter().map(|(index, text)| taken.take(&piece(*index, text))).collect();
        text + &taken.end(answer)
    }

    #[test]
    fn an_answer_ends_with_exactly_one_newline() {
        assert_eq!(printed(&[(0, "Hello, "), (1, "world.")], Some("Hello, world.")), "Hello, world.\n");
        assert_eq!(printed(&[(0, "a\n"), (1, "\nb\n"), (2, "\n")], Some("a\n\nb\n\n")), "a\n\nb\n");
        assert_eq!(printed(&[], Some("not streamed\n\n")), "not streamed\n");
        assert_eq!(printed(&[], None), "");
        assert_eq!(printed(&[(0, "\n\n")], Some("")), "");
    }

    #[test]
    fn deltas_of_all_rounds_form_the_answer() {
        let pieces = [(0, "Let me "), (1, "look."), (2, "\n\nIt is"), (3, " 4.")];
        assert_eq!(printed(&pieces, Some("Let me look.\n\nIt is 4.")), "Let me look.\n\nIt is 4.\n");
        // A delta with index 0 again does not belong to this answer.
        assert_eq!(printed(&[(0, "one"), (0, "one"), (1, " two")], Some("one two")), "one two\n");
    }

    #[test]
    fn a_line_ends_once_on_a_screen() {
        let mut answer = Answer { is_among_others: true, ..Answer::default() };
        assert_eq!(answer.take(&piece(0, "\nLet me look.\n")), "Let me look.");
        assert!(answer.break_line(), "a tool is told");
        assert!(!answer.break_line(), "and a reminder");
        assert_eq!(answer.take(&piece(1, "\n\n")), "");
        assert_eq!(answer.take(&piece(2, "It is\n\n4.")), "It is\n\n4.");
        assert_eq!(answer.take(&piece(3, "\n\nThat is all.")), "\n\nThat is all.", "nothing was told");
        assert!(answer.break_line());
        assert_eq!(answer.end(Some("\nLet me look.\n\n\nIt is\n\n4.\n\nThat is all.")), "");
    }

    #[test]
    fn the_answer_is_unchanged_in_a_pipe() {
        let mut answer = Answer::default();
        assert_eq!(answer.take(&piece(0, "Let me look.")), "Let me look.");
        assert!(!answer.break_line());
        assert_eq!(answer.take(&piece(1, "\n\nIt is 4.")), "\n\nIt is 4.");
        assert_eq!(answer.end(Some("Let me look.\n\nIt is 4.")), "\n");
    }

    #[test]
    fn missing_text_comes_from_the_stored_answer() {
        assert_eq!(printed(&[(0, "one "), (2, "three")], Some("one two three")), "one two three\n");
        assert_eq!(printed(&[(3, "late")], Some("early and late")), "early and late\n");
        let mut answer = Answer::default();
        assert_eq!(answer.take(&piece(0, "Let me look.")), "Let me look.");
        answer.lose();
        assert_eq!(answer.take(&piece(1, " Wait.")), "");
        assert_eq!(answer.end(Some("Let me look. Wait.\n\nIt is 4.")), " Wait.\n\nIt is 4.\n");
    }

    #[test]
    fn what_was_not_kept_is_not_followed_by_what_was() {
        assert_eq!(
            printed(&[(0, "Let me look."), (1, "\n\nand so")], Some("Let me look.")),
            "Let me look.\n\nand so\n"
        );
        assert_eq!(printed(&[(0, "one")], Some("another")), "one\nanother\n");
    }

    #[test]
    fn an_interrupted_answer_ends_its_line() {
        assert_eq!(printed(&[(0, "half an ans")], None), "half an ans\n");
    }
}
