//! `foreword show` and `foreword explain`: the text an agent would get, and why.

use std::io::IsTerminal as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use instructions::{Decision, FileScope, Outcome, Resolution, Severity};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Absent, Explained, Files, LostText, Shown, directory, tokens, warn, warn_of_lost_text};
use crate::output::{is_coloured, print, shown};
use crate::terminal::{self, wrap};
use crate::words::count;

pub(crate) fn run(
    context: &Context,
    path: Option<&Path>,
    absent: Absent,
    lost_text: LostText,
) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    let resolution = instructions::survey(&files.request(&cwd)).map_err(|error| files.failure(&error))?;
    if context.output.is_json() {
        context.output.json(&Explained::new(&resolution, absent))?;
    } else {
        print(&explain(&resolution, absent))?;
    }
    let losing = warn_of_lost_text(context, &resolution);
    Ok(if losing > 0 && lost_text == LostText::Fails { Exit::CheckFailed } else { Exit::Done })
}

pub(crate) fn show(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    let resolution = instructions::survey(&files.request(&cwd)).map_err(|error| files.failure(&error))?;
    if context.output.is_json() {
        context.output.json(&Shown::new(&resolution))?;
        warn_of_lost_text(context, &resolution);
        return Ok(Exit::Done);
    }
    warn(context, &resolution.diagnostics);
    warn_of_lost_text(context, &resolution);
    match &resolution.text {
        Some(text) => {
            print(&shown(text))?;
            // Exactly the text for programs; people want a terminal that is not steered, and their prompt on a line
            // of its own.
            if std::io::stdout().is_terminal() {
                print("\n")?;
            }
        }
        None => {
            let cwd = cwd.display();
            context.output.note(match &resolution.switched_off {
                Some(reason) => format!("no instruction file applies in {cwd}: {reason}"),
                None => format!(
                    "no instruction file applies in {cwd}; `foreword explain --all` says what was looked for"
                ),
            });
        }
    }
    Ok(Exit::Done)
}

/// A sign, a word and a colour for each outcome; the word alone is enough.
fn appearance(outcome: Outcome) -> (&'static str, &'static str, Style) {
    let plain = Style::new();
    let faint = plain.dimmed();
    let (good, poor, bad) =
        (AnsiColor::Green.on_default(), AnsiColor::Yellow.on_default(), AnsiColor::Red.on_default());
    match outcome {
        Outcome::Used => ("+", "used", good),
        Outcome::Truncated => ("~", "truncated", poor),
        Outcome::OverBudget => ("!", "over budget", poor),
        Outcome::Shadowed => ("-", "shadowed", plain),
        Outcome::Blank => ("-", "blank", plain),
        Outcome::Absent => (" ", "absent", faint),
        Outcome::NotAFile => ("!", "not a file", poor),
        Outcome::Unreadable => ("!", "unreadable", bad),
        Outcome::TooDeep => ("!", "too deep", poor),
        Outcome::NotApplicable => ("-", "not applicable", plain),
        Outcome::OutsideRoot => ("!", "outside root", bad),
        Outcome::Duplicate => ("-", "duplicate", plain),
        Outcome::Disabled => ("-", "disabled", plain),
        Outcome::Ignored => ("-", "ignored", plain),
        Outcome::AboveRoot => ("-", "above root", plain),
    }
}

/// The explanation for people: what holds, then every directory with every candidate and its fate.
pub(crate) fn explain(resolution: &Resolution, absent: Absent) -> String {
    let screen = terminal::columns();
    let mut text: String =
        heading(resolution).lines().map(|line| format!("{}\n", wrap(line, screen, HEADING_INDENT))).collect();
    if resolution.text.is_none() {
        text.push_str(&format!("\n{}\n", wrap(&nothing_applies(resolution), screen, INDENT)));
    }
    let listed: Vec<&Decision> = resolution
        .decisions
        .iter()
        .filter(|decision| absent == Absent::Listed || decision.outcome != Outcome::Absent)
        .collect();
    let names = listed.iter().map(|decision| name(decision).chars().count());
    let outcomes = listed.iter().map(|decision| appearance(decision.outcome).1.len());
    let columns = Columns {
        name: names.max().unwrap_or(0).clamp(10, 40),
        outcome: outcomes.max().unwrap_or(0).max(12),
    };
    let mut directories: Vec<&Path> = Vec::new();
    for decision in &listed {
        let directory = decision.path.parent().unwrap_or(&decision.path);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    for directory in directories {
        text.push_str(&format!("\n{}\n", plain(directory.to_string_lossy())));
        let here = |decision: &&&Decision| decision.path.parent().unwrap_or(&decision.path) == directory;
        for decision in listed.iter().filter(here) {
            let line = line(resolution, decision, columns);
            text.push_str(&format!("{}\n", wrap(&line, screen, columns.indent(screen))));
        }
    }
    for diagnostic in &resolution.diagnostics {
        let (word, style) = match diagnostic.severity {
            Severity::Error => ("error", AnsiColor::Red.on_default()),
            Severity::Warning => ("warning", AnsiColor::Yellow.on_default()),
        };
        let place = match (&diagnostic.path, diagnostic.line) {
            (Some(path), Some(line)) => format!("{}:{line}: ", plain(path.to_string_lossy())),
            (Some(path), None) => format!("{}: ", plain(path.to_string_lossy())),
            _ => String::new(),
        };
        let word = paint(style, word);
        let line = format!("{word}: {place}{} ({})", plain(&diagnostic.message), diagnostic.code);
        text.push_str(&format!("\n{}\n", wrap(&line, screen, INDENT)));
    }
    text
}

/// Where continued lines begin.
const INDENT: usize = 2;
/// The same below the words of the heading.
const HEADING_INDENT: usize = 9;
/// Columns that a reason needs to be readable beside the outcome.
const MIN_REASON: usize = 30;

/// Directories that are named where nothing applies; more would hide the answer.
const NAMED_DIRECTORIES: usize = 4;

/// Why there is no text at all.
fn nothing_applies(resolution: &Resolution) -> String {
    if let Some(reason) = &resolution.switched_off {
        return format!("nothing applies: {}", plain(reason));
    }
    let (mut names, mut directories) = (Vec::new(), Vec::new());
    for decision in resolution.decisions.iter().filter(|decision| decision.outcome == Outcome::Absent) {
        let directory = plain(decision.path.parent().unwrap_or(&decision.path).to_string_lossy());
        for (list, value) in [(&mut names, name(decision)), (&mut directories, directory)] {
            if !list.contains(&value) {
                list.push(value);
            }
        }
    }
    if names.is_empty() {
        return "nothing applies".to_owned();
    }
    let more = directories.len().saturating_sub(NAMED_DIRECTORIES);
    directories.truncate(NAMED_DIRECTORIES);
    let more = if more > 0 { format!(" and {more} more (--all lists them)") } else { String::new() };
    format!("nothing applies; looked for {} in {}{more}", names.join(", "), directories.join(", "))
}

/// A word in colour, where colours are wanted.
fn paint(style: Style, word: &str) -> String {
    if is_coloured() { format!("{style}{word}{style:#}") } else { word.to_owned() }
}

fn heading(resolution: &Resolution) -> String {
    let root = match &resolution.root {
        Some(root) => format!("{}: {}", plain(root.to_string_lossy()), resolution.root_reason),
        None => format!("none: {}", resolution.root_reason),
    };
    let kept: u64 = resolution.files.iter().filter(|file| file.limited).map(|file| file.kept_bytes).sum();
    let total = count(resolution.text.as_deref().map_or(0, tokens) as u64, "token");
    format!(
        "profile  {}\ncwd      {}\nroot     {root}\nlimit    {kept} of {} bytes of project files{}\ntext     about {total}\n",
        resolution.profile,
        plain(resolution.cwd.to_string_lossy()),
        resolution.limit_bytes,
        share(kept, resolution.limit_bytes),
    )
}

fn share(bytes: u64, limit: u64) -> String {
    match (bytes * 100).checked_div(limit) {
        Some(0) if bytes > 0 => " (under 1 %)".to_owned(),
        Some(percent) => format!(" ({percent} %)"),
        None => String::new(),
    }
}

/// How wide names and outcomes are.
#[derive(Clone, Copy)]
struct Columns {
    name: usize,
    outcome: usize,
}

impl Columns {
    /// Where a reason continues: below where it began, or on a narrow screen further left.
    fn indent(self, screen: Option<usize>) -> usize {
        let reason = INDENT + 2 + self.name + 2 + self.outcome + 2;
        if screen.is_some_and(|screen| screen < reason + MIN_REASON) { 2 * INDENT + 2 } else { reason }
    }
}

fn line(resolution: &Resolution, decision: &Decision, columns: Columns) -> String {
    let (sign, word, style) = appearance(decision.outcome);
    let mut facts = Vec::new();
    let is_shown = matches!(decision.outcome, Outcome::Used | Outcome::Truncated | Outcome::OverBudget);
    if let Some(file) = resolution.files.iter().find(|file| is_shown && file.path == decision.path) {
        let mut bytes = count(file.bytes, "byte");
        if file.truncated {
            bytes = format!("{} of {bytes}", file.kept_bytes);
        }
        let share = if file.limited { share(file.kept_bytes, resolution.limit_bytes) } else { String::new() };
        if file.scope == FileScope::Rule {
            facts.push("rule".to_owned());
        }
        facts.push(format!("{bytes}{share}, about {}", count(tokens(&file.text) as u64, "token")));
    }
    if let Some(by) = &decision.by {
        let here = by.parent() == decision.path.parent();
        let by = plain(by.file_name().filter(|_| here).unwrap_or(by.as_os_str()).to_string_lossy());
        facts.push(match decision.outcome {
            Outcome::Duplicate => format!("of {by}"),
            _ => format!("by {by}, which comes first"),
        });
    }
    facts.extend(decision.detail.as_ref().map(plain));
    let name = name(decision);
    let Columns { name: width, outcome } = columns;
    let word = paint(style, &format!("{word:outcome$}"));
    let line = format!("  {sign} {name:width$}  {word}  {}", facts.join("; "));
    line.trim_end().to_owned()
}

/// A file name that cannot break its line.
fn name(decision: &Decision) -> String {
    plain(decision.path.file_name().unwrap_or(decision.path.as_os_str()).to_string_lossy())
}

/// Somebody else's words that cannot break their line.
fn plain(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}
