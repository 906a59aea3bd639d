//! Terminal output: lines are wrapped and times are relative. In a pipe or file, lines stay whole and times are exact.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use protocol::Timestamp;
use textwrap::core::{Word, display_width};
use textwrap::wrap_algorithms::wrap_first_fit;
use unicode_width::UnicodeWidthChar as _;

use crate::output::count;

/// Minimum usable width. A terminal that does not know its size reports 0.
const MIN_COLUMNS: u16 = 20;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Age from which a date is clearer than a number of days.
const FAR: i64 = 60 * DAY;

/// Returns the width of standard output. `None` if it is not a terminal or does not report its width.
pub(crate) fn columns() -> Option<usize> {
    columns_of(io::stdout())
}

/// Returns the width of a stream.
pub(crate) fn columns_of(stream: impl IsTerminal + AsFd) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stream).ok()?;
    (size.ws_col >= MIN_COLUMNS).then_some(size.ws_col.into())
}

/// Formats a time for a list.
pub(crate) fn time(at: Timestamp) -> String {
    if io::stdout().is_terminal() { relative(at, Timestamp::now()) } else { at.to_string() }
}

/// Formats a time for a sentence.
pub(crate) fn when(at: Timestamp) -> String {
    if io::stdout().is_terminal() { relative(at, Timestamp::now()) } else { format!("at {at}") }
}

/// Formats a time for a line that stays on the screen. Recent times use the clock, because "now" would be outdated
/// immediately.
pub(crate) fn moment(at: Timestamp) -> String {
    let exact = at.to_string();
    if !io::stdout().is_terminal() {
        return exact;
    }
    let now = Timestamp::now();
    if (now.milliseconds() - at.milliseconds()).abs() >= MINUTE {
        return relative(at, now);
    }
    let clock = exact.split_once('T').and_then(|(_, clock)| clock.get(.."12:34:56".len()));
    clock.map_or(exact.clone(), |clock| format!("{clock} UTC"))
}

fn relative(at: Timestamp, now: Timestamp) -> String {
    let milliseconds = now.milliseconds() - at.milliseconds();
    let distance = milliseconds.abs();
    let (unit, name) = match distance {
        // The clocks of two machines may differ by this much.
        ..SECOND => return "now".to_owned(),
        FAR.. => return at.to_string().chars().take("2026-01-31".len()).collect(),
        DAY.. => (DAY, "day"),
        HOUR.. => (HOUR, "hour"),
        MINUTE.. => (MINUTE, "minute"),
        _ => (SECOND, "second"),
    };
    let amount = count((distance / unit).unsigned_abs(), name);
    if milliseconds > 0 { format!("{amount} ago") } else { format!("in {amount}") }
}

/// Wraps a text at spaces, indenting all but the first line. Longer words stay whole, because paths and commands are meant
/// to be copied.
pub(crate) fn wrap(text: &str, columns: Option<usize>, indent: usize) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let beside = columns.saturating_sub(indent);
    let mut ends = word_ends(text, beside);
    // Breaking before a word that already starts at the indent gains nothing, so it belongs to the words before it.
    if let Some(at) = ends.iter().position(|end| display_width(&text[..*end]) == indent) {
        ends.drain(..=at);
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let words: Vec<Word<'_>> = starts.zip(&ends).map(|(start, end)| Word::from(&text[start..*end])).collect();
    let lines = wrap_first_fit(&words, &[columns as f64, beside as f64]);
    let line = |words: &&[Word<'_>]| {
        let pieces = words.iter().flat_map(|word| [word.word, word.whitespace]);
        pieces.collect::<String>().trim_end_matches(' ').to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join(&format!("\n{:indent$}", ""))
}

/// Wraps each line of a text to the terminal, keeping its indentation.
pub(crate) fn fit(text: &str) -> String {
    fit_within(columns(), text)
}

fn fit_within(columns: Option<usize>, text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let line = line.trim_end_matches('\n');
        let indent = line.len() - line.trim_start_matches(' ').len();
        format!("{}\n", wrap(line, columns, indent))
    });
    lines.collect()
}

/// Returns the ends of the words of a text, each with the spaces after it. A command in backticks counts as one word if it
/// fits a line, so that it can be copied; a percent sign stays with its number.
fn word_ends(text: &str, room: usize) -> Vec<usize> {
    let end_of_word = |from: usize| text[from..].find(' ').map_or(text.len(), |length| from + length);
    let skip_spaces = |from: usize| text.len() - text[from..].trim_start_matches(' ').len();
    let mut ends = Vec::new();
    let mut word = skip_spaces(0);
    if word > 0 {
        ends.push(word);
    }
    while word < text.len() {
        let mut end = end_of_word(word);
        let begins_command = text[word..end].trim_start_matches('(').starts_with('`');
        if begins_command
            && text[word..end].matches('`').count() % 2 == 1
            && let Some(closing) = text[end..].find('`')
            && display_width(&text[word..end_of_word(end + closing)]) <= room
        {
            end = end_of_word(end + closing);
        }
        if text[end..].starts_with(" %") {
            end = end_of_word(end + 1);
        }
        word = skip_spaces(end);
        ends.push(word);
    }
    ends
}

/// Returns the maximum number of columns that a text may occupy. It is rounded up where terminals differ, so that no row
/// exceeds the screen.
pub(crate) fn max_width(text: &str) -> usize {
    text.chars().map(max_columns).sum()
}

/// Returns the maximum number of columns that a character may occupy.
pub(crate) fn max_columns(character: char) -> usize {
    match character {
        // Our own marks, which are ambiguous like every character of a box.
        '│' | '┊' | '→' | '⏎' => 1,
        // Ambiguous characters count as wide, and combining ones as a column of their own.
        _ => character.width_cjk().unwrap_or(1).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_until_a_date_is_clearer() {
        let now = Timestamp::from_milliseconds(1_800_000_000_000);
        let ago =
            |milliseconds: i64| relative(Timestamp::from_milliseconds(1_800_000_000_000 - milliseconds), now);
        assert_eq!(ago(0), "now");
        assert_eq!(ago(SECOND), "1 second ago");
        assert_eq!(ago(90 * SECOND), "1 minute ago");
        assert_eq!(ago(3 * HOUR), "3 hours ago");
        assert_eq!(ago(59 * DAY), "59 days ago");
        assert_eq!(ago(60 * DAY), "2026-11-16");
        assert_eq!(ago(-2 * DAY), "in 2 days");
    }

    #[test]
    fn lines_break_at_spaces_and_keep_their_columns() {
        let text = "  + AGENTS.md  used  it is only white space";
        assert_eq!(wrap(text, None, 4), text);
        assert_eq!(wrap(text, Some(80), 4), text);
        assert_eq!(wrap(text, Some(30), 4), "  + AGENTS.md  used  it is\n    only white space");
        // A long word stays whole on a line of its own.
        assert_eq!(wrap("one /long/path/to/a/file b", Some(10), 2), "one\n  /long/path/to/a/file\n  b");
        assert_eq!(wrap("cwd  /long/path/to b", Some(10), 5), "cwd  /long/path/to\n     b");
        // Commands stay copyable, and numbers keep their percent signs.
        assert_eq!(wrap("try `a b c` now", Some(9), 2), "try\n  `a b c`\n  now");
        assert_eq!(wrap("try `a b c d e` now", Some(9), 2), "try `a b\n  c d e`\n  now");
        assert_eq!(wrap("bytes (under 1 %), tokens", Some(14), 2), "bytes (under\n  1 %), tokens");
        assert_eq!(fit_within(Some(12), "a\n\n  one two three\n"), "a\n\n  one two\n  three\n");
        assert_eq!(wrap("\u{1b}[32mused\u{1b}[0m here", Some(9), 2), "\u{1b}[32mused\u{1b}[0m here");
    }
}
