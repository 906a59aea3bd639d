//! A model's answer on its way to standard output: piece by piece, and complete at the end.

use protocol::notification::TurnDelta;

/// What was printed of an answer, and what must not be printed yet.
///
/// Every round of a turn may say something; the pieces of each are counted from 0. Line ends are held back until more
/// text follows, so that the answer ends with exactly one.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The text of the present round.
    round: String,
    next_index: u64,
    /// Whether a piece of the present round is missing, so that the rest comes from the gateway's record.
    has_gap: bool,
    held_line_ends: usize,
    is_line_open: bool,
}

impl Answer {
    /// What to print of the next piece.
    pub(super) fn take(&mut self, delta: &TurnDelta) -> String {
        let mut text = String::new();
        if delta.index == 0 && self.next_index > 0 {
            text = self.close_line();
            self.round.clear();
            (self.next_index, self.has_gap) = (0, false);
        }
        if delta.index != self.next_index {
            self.has_gap = true;
        }
        if self.has_gap {
            return text;
        }
        self.next_index += 1;
        self.round.push_str(&delta.text);
        text + &self.feed(&delta.text)
    }

    /// Pieces may be missing from now on.
    pub(super) fn lose(&mut self) {
        self.has_gap = true;
    }

    /// Whether the last line that was printed has no end yet.
    pub(super) fn is_line_open(&self) -> bool {
        self.is_line_open
    }

    /// What to print at the end, so that all of the answer was printed.
    pub(super) fn end(&mut self, answer: Option<&str>) -> String {
        let answer = answer.unwrap_or_default().trim_end_matches('\n');
        let round = self.round.trim_end_matches('\n');
        let is_whole =
            !self.has_gap && !round.is_empty() && (answer.ends_with(round) || round.ends_with(answer));
        let rest = if is_whole || answer.is_empty() {
            String::new()
        } else if let Some(rest) = answer.strip_prefix(self.round.as_str()) {
            self.feed(rest)
        } else if answer == round {
            String::new()
        } else {
            self.close_line() + &self.feed(answer)
        };
        rest + &self.close_line()
    }

    fn feed(&mut self, text: &str) -> String {
        let text = if self.is_line_open { text } else { text.trim_start_matches('\n') };
        let visible = text.trim_end_matches('\n');
        let line_ends = text.len() - visible.len();
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

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::TurnId;

    /// All that is printed of these pieces and this answer.
    fn printed(pieces: &[(u64, &str)], answer: Option<&str>) -> String {
        let mut taken = Answer::default();
        let turn_id = TurnId::new();
        let mut text = String::new();
        for (index, piece) in pieces {
            let delta = TurnDelta { turn_id: turn_id.clone(), index: *index, text: (*piece).to_owned() };
            text.push_str(&taken.take(&delta));
        }
        text + &taken.end(answer)
    }

    #[test]
    fn an_answer_ends_with_exactly_one_line_end() {
        assert_eq!(printed(&[(0, "Hello, "), (1, "world.")], Some("Hello, world.")), "Hello, world.\n");
        assert_eq!(printed(&[(0, "a\n"), (1, "\nb\n"), (2, "\n")], Some("a\n\nb\n\n")), "a\n\nb\n");
        assert_eq!(printed(&[], Some("not streamed\n\n")), "not streamed\n");
        assert_eq!(printed(&[], None), "");
        assert_eq!(printed(&[(0, "\n\n")], Some("")), "");
    }

    #[test]
    fn rounds_are_on_lines_of_their_own() {
        let pieces = [(0, "Let me "), (1, "look."), (0, "It is"), (1, " 4.")];
        assert_eq!(printed(&pieces, Some("It is 4.")), "Let me look.\nIt is 4.\n");
        assert_eq!(printed(&pieces, Some("Let me look.It is 4.")), "Let me look.\nIt is 4.\n");
    }

    #[test]
    fn what_is_missing_comes_from_the_record() {
        assert_eq!(printed(&[(0, "one "), (2, "three")], Some("one two three")), "one two three\n");
        assert_eq!(printed(&[(3, "late")], Some("early and late")), "early and late\n");
        let mut answer = Answer::default();
        let delta = TurnDelta { turn_id: TurnId::new(), index: 0, text: "Let me look.".to_owned() };
        assert_eq!(answer.take(&delta), "Let me look.");
        answer.lose();
        assert_eq!(answer.end(Some("It is 4.")), "\nIt is 4.\n");
    }

    #[test]
    fn an_answer_that_broke_off_ends_its_line() {
        assert_eq!(printed(&[(0, "half an ans")], None), "half an ans\n");
    }
}
