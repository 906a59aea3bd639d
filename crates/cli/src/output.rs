//! Output: data to standard output, everything else to standard error.

pub(crate) mod progress;
pub(crate) mod quoted_block;
pub(crate) mod relative_path;
pub(crate) mod terminal;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde::Serialize;
use serde_json::json;
use textwrap::core::display_width;

use crate::failure::{Exit, Failure};
use crate::output::terminal::{columns, columns_of, wrap};

/// Format of printed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one object, or one per line in a stream.
    Json,
    /// For tools that collect findings; only supported by `check`.
    #[value(skip)]
    Sarif,
    /// For GitHub workflows; only supported by `check` and `diff`.
    #[value(skip)]
    Github,
    /// For comments on pull requests; only supported by `diff`.
    #[value(skip)]
    Markdown,
}

/// Use of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Destination of a command's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
    /// True if only data is printed.
    is_silent: bool,
    /// True if notes are not printed.
    is_quiet: bool,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, is_silent: false, is_quiet: false }
    }

    /// Creates an output that prints no messages, for completion.
    pub(crate) fn silent() -> Self {
        Self { format: Format::Text, is_silent: true, is_quiet: true }
    }

    /// Suppresses notes if a flag is set.
    pub(crate) fn quiet(self, is_quiet: bool) -> Self {
        Self { is_quiet, ..self }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a result as JSON for programs, or as text for people.
    pub(crate) fn data(
        self,
        result: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Reader, Failure> {
        match self.format {
            Format::Json => self.json(result),
            Format::Text | Format::Sarif | Format::Github | Format::Markdown => print(&text()),
        }
    }

    /// Prints a JSON object on one line.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<Reader, Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not print", error))?;
        print(&format!("{text}\n"))
    }

    /// Prints a message that is not data.
    pub(crate) fn note(self, message: impl AsRef<str>) {
        // Programs also read standard error, which contains only JSON objects then. Notes are for people.
        if !self.is_json() && !self.is_silent && !self.is_quiet {
            let columns = columns_of(io::stderr());
            // Indented lines are meant to be copied, or already fit.
            let fitted =
                |line: &str| if line.starts_with(' ') { line.to_owned() } else { wrap(line, columns, 0) };
            let lines: Vec<String> = message.as_ref().split('\n').map(fitted).collect();
            // A message that cannot be printed, for example to a closed stream, must not fail the command.
            let _ = writeln!(anstream::stderr(), "{}", lines.join("\n"));
        }
    }

    /// Prints a prompt and leaves the cursor on its line.
    pub(crate) fn ask(self, question: &str) {
        let mut stderr = anstream::stderr();
        // The question has no newline, so the stream must be flushed explicitly.
        let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    }

    /// Prints a warning.
    pub(crate) fn warning(self, message: &str, hint: Option<&str>) {
        // Completion must print nothing, because the shell would mix it into the line that is being edited.
        if self.is_silent {
            return;
        }
        let mut stderr = anstream::stderr();
        if self.is_json() {
            // Every message is one object on one line, so that a program can read standard error line by line.
            let _ = writeln!(stderr, "{}", json!({ "warning": { "message": message, "hint": hint } }));
            return;
        }
        let _ = writeln!(stderr, "{}", labelled(WARNING, "warning", message));
        if let Some(hint) = hint {
            let _ = writeln!(stderr, "{}", labelled(HINT, "hint", hint));
        }
    }

    /// Prints the reason why a command failed.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut stderr = anstream::stderr();
        if self.is_json() {
            let mut error = json!({ "message": failure.message });
            if !failure.hints.is_empty() {
                // `hint` is a single string in JSON, so several hints are joined.
                error["hint"] = failure.hints.join("; ").into();
            }
            if let Some(data) = &failure.data {
                error["data"] = serde_json::to_value(data).unwrap_or_default();
            }
            let _ = writeln!(stderr, "{}", json!({ "error": error }));
            return;
        }
        let _ = writeln!(stderr, "{}", labelled(ERROR, "error", &failure.message));
        for hint in &failure.hints {
            let _ = writeln!(stderr, "{}", labelled(HINT, "hint", hint));
        }
    }
}

/// Returns a message behind a colored label, wrapped to the terminal.
fn labelled(style: Style, label: &str, message: &str) -> String {
    wrap(&format!("{style}{label}:{style:#} {message}"), columns_of(io::stderr()), GAP)
}

/// Columns between two columns of a table.
const GAP: usize = 2;
/// Minimum useful width of a column with long text.
const READABLE: usize = 12;

/// Returns a borderless table. In a pipe, columns fit their longest cell; on a terminal, long cells wrap within their
/// column.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(columns(), headings, rows)
}

fn table_within(
    columns: Option<usize>,
    headings: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    // The widths are measured before the table is built, because the table itself would break words in order
    // to fit.
    let least = least_widths(&headings, &rows);
    let gaps = GAP * headings.len().saturating_sub(1);
    // Columns this narrow would break words that users copy, so every row becomes a block of lines.
    if columns.is_some_and(|columns| least.iter().sum::<usize>() + gaps > columns) {
        return records(columns, &headings, &rows);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(columns) = columns {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
    }
    table.set_header(headings);
    for row in rows {
        table.add_row(row);
    }
    let last = least.len().saturating_sub(1);
    for (index, (column, least)) in table.column_iter_mut().zip(least).enumerate() {
        // The gap belongs to the column before it, so the last column has none.
        let gap = if index == last { 0 } else { GAP };
        let least = u16::try_from(least + gap).unwrap_or(u16::MAX);
        column
            .set_padding((0, u16::try_from(gap).unwrap_or_default()))
            .set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    // The padding of the last cells would leave spaces at the ends of lines, which is noise in a file.
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n"))
}

/// Returns the minimum width of each column: words stay unbroken so that they can be copied, and long texts get a readable
/// width.
fn least_widths(headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let cells = |index: usize| {
        let cells = rows.iter().filter_map(move |row| row.get(index));
        headings.get(index).into_iter().chain(cells)
    };
    let columns = 0..headings.len();
    columns
        .map(|index| {
            let longest = cells(index).map(|cell| display_width(cell)).max().unwrap_or(0);
            let word =
                cells(index).flat_map(|cell| cell.split_whitespace()).map(display_width).max().unwrap_or(0);
            word.max(longest.min(READABLE))
        })
        .collect()
}

/// Returns the rows as blocks of lines, for a terminal that is too narrow for the table.
fn records(columns: Option<usize>, headings: &[String], rows: &[Vec<String>]) -> String {
    let width = headings.iter().map(|heading| display_width(heading)).max().unwrap_or(0);
    let records = rows.iter().map(|row| {
        let cells = headings.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let lines = cells.map(|(heading, cell)| {
            let line = format!("{heading:width$}  {cell}");
            format!("{}\n", wrap(&line, columns, width + GAP))
        });
        lines.collect::<String>()
    });
    records.collect::<Vec<_>>().join("\n")
}

/// State of the reader of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Still reading, as far as known.
    Listening,
    /// The reader has closed its end, like `head`. That is not a failure, but nothing more needs to be printed.
    Gone,
}

/// Prints data unchanged: in a pipe or file, documents keep even their control characters.
pub(crate) fn print(text: &str) -> Result<Reader, Failure> {
    // Without colors, `anstream` would strip escape sequences and thus change a document, so it is bypassed.
    let written = if is_coloured() {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    } else {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    };
    match written {
        Ok(()) => Ok(Reader::Listening),
        // A reader like `head` ends early on purpose, so a broken pipe is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::caused_by(Exit::Failed, "could not write to standard output", error)),
    }
}

/// Returns the state of standard output's reader without printing anything.
pub(crate) fn reader() -> Reader {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    // The timeout is zero, so this only asks for the current state and never waits.
    let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut asked, Some(&no_wait)) {
        Ok(_) if asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) => {
            Reader::Gone
        }
        _ => Reader::Listening,
    }
}

/// Returns true if standard output may have colors.
pub(crate) fn is_coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Escapes control characters of untrusted text on a terminal. Elsewhere text is printed unchanged.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible(text) } else { text.into() }
}

/// Like [`shown`], but also escapes zero-width and reordering characters. For text whose exact content matters; in prose,
/// some languages need such characters.
pub(crate) fn shown_exactly(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { all_visible(text) } else { text.into() }
}

/// Escapes a name so that it stays on one line and cannot be mistaken for another name.
pub(crate) fn shown_name(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for character in name.chars() {
        if instructions::is_unseen(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Shortens untrusted text to one line of at most `width` characters that cannot control the terminal, end the line or
/// change the reading order.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut result = String::new();
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(width) {
        match character {
            '\n' | '\t' => result.push(' '),
            _ if character.is_control() || instructions::reorders_text(character) => {
                result.extend(character.escape_unicode())
            }
            _ => result.push(character),
        }
    }
    if characters.next().is_some() {
        result.push('…');
    }
    result
}

/// Escapes a path so that it stays on one line. Its name may have been chosen to imitate our output.
pub(crate) fn shown_path(path: impl AsRef<std::path::Path>) -> String {
    plain(path.as_ref().to_string_lossy())
}

/// Escapes untrusted text so that it stays on one line.
pub(crate) fn plain(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    text.chars().fold(String::with_capacity(text.len()), |mut plain, character| {
        if character.is_control() || instructions::reorders_text(character) {
            // `escape_default` uses the short form of well-known characters, such as `\n`, which is easier to read
            // within a path.
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
        plain
    })
}

/// Makes every character of a line visible, for text that a user must be able to judge.
pub(crate) fn seen_line(line: &str) -> String {
    let mut seen = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            '\n' => seen.push('⏎'),
            '\t' => seen.push_str("→   "),
            _ if instructions::is_unseen(character) => seen.extend(character.escape_unicode()),
            _ => seen.push(character),
        }
    }
    seen
}

/// Escapes control characters except line breaks and tabs.
fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

/// Escapes all invisible characters except line breaks and tabs.
fn all_visible(text: &str) -> Cow<'_, str> {
    escaped(text, instructions::is_unseen)
}

fn escaped(text: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_meant = |character: char| !matches!(character, '\n' | '\t') && is_meant(character);
    if !text.contains(is_meant) {
        return text.into();
    }
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        if is_meant(character) {
            result.extend(character.escape_unicode());
        } else {
            result.push(character);
        }
    }
    result.into()
}

/// Formats a number with its noun: `1 byte`, `2 bytes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("\ta\u{1b}[2Jb\u{9b}\n"), "\ta\\u{1b}[2Jb\\u{9b}\n");
        assert!(matches!(visible("a\tb\n"), Cow::Borrowed(_)));
        // Some languages need joiners, so they are escaped only where exact content matters.
        assert_eq!(visible("a\u{200d}b\u{202e}"), "a\u{200d}b\u{202e}");
        assert_eq!(all_visible("\ta\u{200d}\u{1b}b\u{202e}é日\n"), "\ta\\u{200d}\\u{1b}b\\u{202e}é日\n");
        assert!(matches!(all_visible("a\té日\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_name_cannot_imitate_another() {
        for name in ["owner\u{200b}", "ow\u{ad}ner", "owner\u{a0}", "x\u{202e}y", "a\nb", "a\u{1b}[2J"] {
            let shown = shown_name(name);
            assert!(shown.contains("\\u{") && !shown.contains(instructions::is_unseen), "{shown}");
        }
        assert_eq!(shown_name("Zoë’s build"), "Zoë’s build");
    }

    #[test]
    fn columns_line_up_without_trailing_space() {
        let text = table(&["name", "id"], [vec!["a".into(), "1".into()], vec!["long".into(), "2".into()]]);
        assert_eq!(text, "NAME  ID\na     1\nlong  2\n");
    }

    #[test]
    fn a_table_fits_a_terminal() {
        let rows = || {
            [vec!["services".into(), "Run the tests before you finish, all of them, on every machine".into()]]
        };
        let wide = table_within(None, &["folder", "message"], rows());
        assert_eq!(wide.lines().count(), 2);
        for columns in [80, 60, 40] {
            let text = table_within(Some(columns), &["folder", "message"], rows());
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&text), words(&wide), "{columns}: {text}");
        }
    }

    #[test]
    fn a_narrow_terminal_gets_one_block_per_row() {
        let id = "0190b6a5-0000-7000-8000-000000000000";
        let rows = || [vec!["demo".into(), id.into(), "/tmp".into()], vec!["b".into(), id.into(), "".into()]];
        let table = |columns| table_within(Some(columns), &["name", "id", "root"], rows());
        assert_eq!(table(60).lines().count(), 3);
        assert!(table(48).contains(&format!("demo  {id}  /tmp\n")), "{}", table(48));
        assert_eq!(table(47), format!("NAME  demo\nID    {id}\nROOT  /tmp\n\nNAME  b\nID    {id}\n"));
    }

    #[test]
    fn a_path_stays_whole_on_one_line() {
        assert_eq!(shown_path("/a/e\u{1b}[2J\nrounds\u{202e}é"), "/a/e\\u{1b}[2J\\nrounds\\u{202e}é");
    }

    #[test]
    fn text_is_cut_to_one_escaped_line() {
        assert_eq!(one_line(" a\nb\u{1b}[2J\r\u{202e}c\n", 80), "a b\\u{1b}[2J\\u{d}\\u{202e}c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("äöü", 3), "äöü");
    }
}
