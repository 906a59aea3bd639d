//! Keeps the beginning and the end of an output of any length.

use std::collections::VecDeque;

use instructions::Reminder;

use crate::ToolOutput;
use crate::call::trim::Keep;

/// Characters reserved for the mark in the middle.
const MARK_CHARS: usize = 80;

/// Beginning and end of an output.
#[derive(Debug)]
pub(super) struct Capture {
    limit: usize,
    start: Vec<u8>,
    end: VecDeque<u8>,
    left_out: u64,
    left_out_lines: u64,
}

impl Capture {
    /// Creates a capture that fits into `chars` characters.
    pub(super) fn new(chars: usize) -> Self {
        // Half of the space for each end. Bytes are counted instead of characters: a character has at least one byte.
        let limit = (chars.saturating_sub(MARK_CHARS) / 2).max(1);
        Self { limit, start: Vec::new(), end: VecDeque::new(), left_out: 0, left_out_lines: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = (self.limit - self.start.len()).min(bytes.len());
        self.start.extend_from_slice(&bytes[..room]);
        self.end.extend(&bytes[room..]);
        // Dropped with every piece, so that an endless output never holds more than both ends and one piece in memory.
        let over = self.end.len().saturating_sub(self.limit);
        self.left_out += over as u64;
        self.left_out_lines += self.end.drain(..over).filter(|byte| *byte == b'\n').count() as u64;
    }

    /// Returns the output with a reminder about the removed part.
    pub(super) fn into_output(mut self) -> ToolOutput {
        if self.left_out == 0 {
            self.start.extend(self.end);
            return ToolOutput { keep: Keep::Ends, ..ToolOutput::text(String::from_utf8_lossy(&self.start)) };
        }
        let (start, end) = self.at_lines();
        let start = String::from_utf8_lossy(&start);
        let end = String::from_utf8_lossy(&end);
        let line = if start.ends_with('\n') { "" } else { "\n" };
        let text = format!("{start}{line}[foreword: {} bytes left out here]\n{end}", self.left_out);
        let output = ToolOutput { keep: Keep::Ends, ..ToolOutput::text(text) };
        output.with_reminder(Reminder::ToolOutputTrimmed {
            removed_bytes: self.left_out,
            removed_lines: self.left_out_lines.max(1),
            remedy: "Run it again with its output sent to a file, and read or search that file.".to_owned(),
        })
    }

    /// Returns both parts, cut at a line end if one is near.
    fn at_lines(&mut self) -> (Vec<u8>, Vec<u8>) {
        let mut start = std::mem::take(&mut self.start);
        let mut end: Vec<u8> = std::mem::take(&mut self.end).into();
        if let Some(position) =
            start.iter().rposition(|byte| *byte == b'\n').filter(|at| at + 1 >= start.len() / 2)
        {
            self.left_out += (start.len() - position - 1) as u64;
            start.truncate(position + 1);
        }
        if let Some(position) = end.iter().position(|byte| *byte == b'\n').filter(|at| *at < end.len() / 2) {
            self.left_out += position as u64 + 1;
            self.left_out_lines += 1;
            end.drain(..=position);
        }
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chars: usize, pieces: &[&str]) -> (String, Option<(u64, u64)>) {
        let mut capture = Capture::new(chars);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        let output = capture.into_output();
        let removed = output.reminders.first().map(|reminder| match reminder {
            Reminder::ToolOutputTrimmed { removed_bytes, removed_lines, .. } => {
                (*removed_bytes, *removed_lines)
            }
            other => panic!("{other:?}"),
        });
        (output.text, removed)
    }

    #[test]
    fn short_output_is_whole() {
        assert_eq!(captured(100, &["one\n", "two\n"]), ("one\ntwo\n".into(), None));
        assert_eq!(captured(100, &["0123456789", "0123456789"]), ("01234567890123456789".into(), None));
    }

    #[test]
    fn middle_of_long_output_is_left_out() {
        let lines: String = (0..1000).map(|line| format!("{line:03}\n")).collect();
        let (text, removed) = captured(100, &[&lines]);
        assert_eq!(text, "000\n001\n[foreword: 3984 bytes left out here]\n998\n999\n");
        assert_eq!(removed, Some((3984, 996)));
        let pieces: Vec<&str> = lines.split_inclusive('9').collect();
        assert_eq!(captured(100, &pieces), (text, removed), "however it comes");
        let (text, _) = captured(100, &[&"x".repeat(100)]);
        assert_eq!(text, "xxxxxxxxxx\n[foreword: 80 bytes left out here]\nxxxxxxxxxx");
    }
}
