//! Data on standard output, everything else on standard error.

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

use crate::failure::{Exit, Failure};
use crate::output::terminal::{columns, columns_of, wrap};

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one object, or one a line where there is no end.
    Json,
    /// For tools that collect findings; only `check` has some.
    #[value(skip)]
    Sarif,
    /// For GitHub's workflows, the same.
    #[value(skip)]
    Github,
}

/// When colours are used.
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

/// Where a command's words go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
    /// Whether nothing but data is printed.
    is_silent: bool,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, is_silent: false }
    }

    /// One that says nothing, for where nobody would know who speaks.
    pub(crate) fn silent() -> Self {
        Self { format: Format::Text, is_silent: true }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a result: as JSON for programs, as `text` says for people.
    pub(crate) fn data(
        self,
        result: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<Reader, Failure> {
        match self.format {
            Format::Json => self.json(result),
            Format::Text | Format::Sarif | Format::Github => print(&text()),
        }
    }

    /// Prints one JSON object on a line of its own.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<Reader, Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::caused_by(Exit::Failed, "could not print", error))?;
        print(&format!("{text}\n"))
    }

    /// Says something that is not data.
    pub(crate) fn note(self, message: impl AsRef<str>) {
        if !self.is_json() && !self.is_silent {
            let columns = columns_of(io::stderr());
            // What is indented is there to be copied, or fits already.
            let fitted =
                |line: &str| if line.starts_with(' ') { line.to_owned() } else { wrap(line, columns, 0) };
            let lines: Vec<String> = message.as_ref().split('\n').map(fitted).collect();
            let _ = writeln!(anstream::stderr(), "{}", lines.join("\n"));
        }
    }

    /// Says something that an answer follows on the same line.
    pub(crate) fn ask(self, question: &str) {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    }

    /// Says something that the user should look at.
    pub(crate) fn warning(self, message: &str, hint: Option<&str>) {
        if self.is_silent {
            return;
        }
        let mut stderr = anstream::stderr();
        if self.is_json() {
            let _ = writeln!(stderr, "{}", json!({ "warning": { "message": message, "hint": hint } }));
            return;
        }
        let _ = writeln!(stderr, "{}", labelled(WARNING, "warning", message));
        if let Some(hint) = hint {
            let _ = writeln!(stderr, "{}", labelled(HINT, "hint", hint));
        }
    }

    /// Says why the command failed.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut stderr = anstream::stderr();
        if self.is_json() {
            let mut error = json!({ "message": failure.message });
            if !failure.hints.is_empty() {
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

/// A message behind a word that says what kind it is of, as wide as the terminal that it goes to.
fn labelled(style: Style, label: &str, message: &str) -> String {
    wrap(&format!("{style}{label}:{style:#} {message}"), columns_of(io::stderr()), GAP)
}

/// Columns between two columns of a table.
const GAP: usize = 2;
/// As wide as a column can be without being looked at for its width.
const READABLE: usize = 12;

/// A table without lines. In a pipe its columns are wide enough for their longest cell; on a terminal what does not fit
/// its width continues in the next line of its column.
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
    let least = least_widths(&headings, &rows);
    let gaps = GAP * headings.len().saturating_sub(1);
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
        let gap = if index == last { 0 } else { GAP };
        let least = u16::try_from(least + gap).unwrap_or(u16::MAX);
        column
            .set_padding((0, u16::try_from(gap).unwrap_or_default()))
            .set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n"))
}

/// How wide each column must be, so that no word is broken, which could then not be copied, and long texts are not a word
/// a line.
fn least_widths(headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let cells = |index: usize| {
        let cells = rows.iter().filter_map(move |row| row.get(index));
        headings.get(index).into_iter().chain(cells)
    };
    let length = |text: &str| text.chars().count();
    let columns = 0..headings.len();
    columns
        .map(|index| {
            let longest = cells(index).map(|cell| length(cell)).max().unwrap_or(0);
            let word = cells(index).flat_map(|cell| cell.split_whitespace()).map(length).max().unwrap_or(0);
            word.max(longest.min(READABLE))
        })
        .collect()
}

/// The rows one below the other, for a terminal that a table does not fit.
fn records(columns: Option<usize>, headings: &[String], rows: &[Vec<String>]) -> String {
    let width = headings.iter().map(|heading| heading.chars().count()).max().unwrap_or(0);
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

/// Whether somebody still reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// As far as we know.
    Listening,
    /// It has had enough, like `head`. That is no failure, but nothing more need be printed.
    Gone,
}

/// Prints data as it is: in a pipe or file, a document keeps even its control characters.
pub(crate) fn print(text: &str) -> Result<Reader, Failure> {
    let written = if is_coloured() {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    } else {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    };
    match written {
        Ok(()) => Ok(Reader::Listening),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::caused_by(Exit::Failed, "could not write to standard output", error)),
    }
}

/// Whether somebody still reads standard output, without printing anything.
pub(crate) fn reader() -> Reader {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut asked, Some(&at_once)) {
        Ok(_) if asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) => {
            Reader::Gone
        }
        _ => Reader::Listening,
    }
}

/// Whether what is printed may have colours.
pub(crate) fn is_coloured() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Somebody's text as it may be printed: on a terminal, what would steer the terminal is made visible instead.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible(text) } else { text.into() }
}

/// The same of a text that is looked at to see what exactly is in it: also what has no width or changes the order is made
/// visible. Not for what is only read: such characters belong to some languages.
pub(crate) fn shown_exactly(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { all_visible(text) } else { text.into() }
}

/// Somebody's name, whole and on one line, so that none can pass for another.
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

/// Somebody's text on one line of so many characters, for messages: nothing in it steers a terminal, ends the line
/// or changes the order in which it is read.
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

/// A path as it may be printed, whole and on one line: its name may have been chosen to look like lines of ours.
pub(crate) fn shown_path(path: impl AsRef<std::path::Path>) -> String {
    plain(path.as_ref().to_string_lossy())
}

/// Somebody else's words, whole, that cannot break their line.
pub(crate) fn plain(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    text.chars().fold(String::with_capacity(text.len()), |mut plain, character| {
        if character.is_control() || instructions::reorders_text(character) {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
        plain
    })
}

/// A line of somebody who wants it to be believed, in which everything can be seen.
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

/// The same text without what would steer a terminal; lines and tabs stay.
fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

/// The same text with all that cannot be seen made visible; lines and tabs stay.
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

/// A number of things: `1 byte`, `2 bytes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_made_visible() {
        assert_eq!(visible("\ta\u{1b}[2Jb\u{9b}\n"), "\ta\\u{1b}[2Jb\\u{9b}\n");
        assert!(matches!(visible("a\tb\n"), Cow::Borrowed(_)));
        // A joiner belongs to some languages, and is shown where somebody looks for it.
        assert_eq!(visible("a\u{200d}b\u{202e}"), "a\u{200d}b\u{202e}");
        assert_eq!(all_visible("\ta\u{200d}\u{1b}b\u{202e}é日\n"), "\ta\\u{200d}\\u{1b}b\\u{202e}é日\n");
        assert!(matches!(all_visible("a\té日\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_name_passes_for_another() {
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
    fn where_words_would_be_broken_rows_are_one_below_the_other() {
        let id = "0190b6a5-0000-7000-8000-000000000000";
        let rows = || [vec!["demo".into(), id.into(), "/tmp".into()], vec!["b".into(), id.into(), "".into()]];
        let table = |columns| table_within(Some(columns), &["name", "id", "root"], rows());
        assert_eq!(table(60).lines().count(), 3);
        assert!(table(48).contains(&format!("demo  {id}  /tmp\n")), "{}", table(48));
        assert_eq!(table(47), format!("NAME  demo\nID    {id}\nROOT  /tmp\n\nNAME  b\nID    {id}\n"));
    }

    #[test]
    fn a_path_is_one_line_and_whole() {
        assert_eq!(shown_path("/a/e\u{1b}[2J\nrounds\u{202e}é"), "/a/e\\u{1b}[2J\\nrounds\\u{202e}é");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line(" a\nb\u{1b}[2J\r\u{202e}c\n", 80), "a b\\u{1b}[2J\\u{d}\\u{202e}c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("äöü", 3), "äöü");
    }
}
