//! `foreword show` and `foreword explain`: the text an agent gets, and the reasons.

use std::io::IsTerminal as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use compare::{Absent, Explained, Shown, kept_bytes, tokens};
use instructions::{
    Decision, Diagnostic, FileScope, FileSettings, InstructionFile, Outcome, Profile, Resolution, Severity,
};
use serde::Serialize;

use super::guard::ListedGuards;
use crate::config::layers::Origin;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, LostText, directory, warn, warn_of_lost_text};
use crate::output::count;
use crate::output::progress::Progress;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{self, wrap};
use crate::output::{is_coloured, plain, print, shown_exactly};

pub(crate) fn run(
    context: &Context,
    path: Option<&Path>,
    absent: Absent,
    lost_text: LostText,
) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    let resolution = survey(context, &files, &cwd)?;
    let guards = super::guard::list(&files, &cwd)?;
    if context.output.is_json() {
        let explained = Explained::new(&resolution, absent);
        context.output.json(&GuardedExplanation { explained, guards: &guards })?;
    } else {
        print(&explain(&resolution, absent))?;
        if !guards.guards.is_empty() {
            print(&format!("\nguards\n{}", super::guard::text(&guards)))?;
        }
        // A user who selected an agent does not need the hints about other agents.
        if !matches!(context.configuration.origin("agents.profile"), Origin::Flag(_)) {
            print(&other_agents(&resolution, &files.settings))?;
        }
        for hint in crate::command::transcripts::missed(&files.settings, &resolution) {
            context.output.note(hint);
        }
    }
    let losing = warn_of_lost_text(context, &resolution);
    Ok(if losing > 0 && lost_text == LostText::Fails { Exit::CheckFailed } else { Exit::Done })
}

/// An explanation with the guards that hold in the directory.
#[derive(Serialize)]
struct GuardedExplanation<'a> {
    #[serde(flatten)]
    explained: Explained<'a>,
    #[serde(flatten)]
    guards: &'a ListedGuards,
}

pub(crate) fn show(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    let resolution = survey(context, &files, &cwd)?;
    if context.output.is_json() {
        context.output.json(&Shown::new(&resolution))?;
        warn_of_lost_text(context, &resolution);
        return Ok(Exit::Done);
    }
    // Warnings go first, so that the text remains the last thing on a terminal.
    warn(context, Viewpoint::of(&resolution), &resolution.diagnostics);
    warn_of_lost_text(context, &resolution);
    note_files_above(context, &resolution);
    match &resolution.text {
        Some(text) => {
            print(&shown_exactly(text))?;
            // Programs get exactly the text. On a terminal, control characters are escaped and the text ends with a newline,
            // so that the shell prompt starts on its own line.
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

/// Explains why files above the working directory are not read although a workspace of a gateway might begin there.
fn note_files_above(context: &Context, resolution: &Resolution) {
    let is_above = |decision: &&Decision| decision.outcome == Outcome::AboveRoot;
    if resolution.root.is_none() && resolution.decisions.iter().any(|decision| is_above(&decision)) {
        let reason = plain(&resolution.root_reason);
        context.output.note(format!(
            "files of the directories above are not read: {reason}; in a gateway the directory of the workspace counts \
             (`--root DIR`)"
        ));
    }
}

/// Formats the losses of other agents that are used on this machine or in this repository, one per line.
fn other_agents(resolution: &Resolution, settings: &FileSettings) -> String {
    let agents = compare::here(resolution, settings);
    let Some(width) = agents.iter().map(|profile| profile.name.len()).max() else { return String::new() };
    let screen = terminal::columns();
    let line = |profile: &&'static Profile| {
        let sentence = plain(compare::sentence(profile, resolution, settings));
        format!("{}\n", wrap(&format!("{:width$}  {sentence}", profile.name), screen, width + INDENT))
    };
    format!("\n{}", agents.iter().map(line).collect::<String>())
}

/// Resolves the directory and shows progress if the disk is slow.
fn survey(context: &Context, files: &Files, cwd: &Path) -> Result<Resolution, Failure> {
    let _progress = Progress::start(context.output, "reading the files");
    instructions::survey(&files.request(cwd)).map_err(|error| files.failure(&error))
}

/// Returns the sign, word and style of an outcome. The word alone is sufficient.
pub(super) fn appearance(outcome: Outcome) -> (&'static str, &'static str, Style) {
    let plain = Style::new();
    let faint = plain.dimmed();
    let good = AnsiColor::Green.on_default();
    let poor = AnsiColor::Yellow.on_default();
    let bad = AnsiColor::Red.on_default();
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

/// Formats the explanation: the effective settings, then every directory with its candidates and their outcomes.
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
    let columns = Columns::new(names.max().unwrap_or(0), outcomes.max().unwrap_or(0)).on(screen);
    let mut directories: Vec<&Path> = Vec::new();
    for decision in &listed {
        let directory = decision.path.parent().unwrap_or(&decision.path);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    for directory in directories {
        text.push_str(&format!("\n{}\n", Viewpoint::of(resolution).path(directory)));
        let here = |decision: &&&Decision| decision.path.parent().unwrap_or(&decision.path) == directory;
        for decision in listed.iter().filter(here) {
            let line = line(resolution, decision, &name(decision), columns);
            text.push_str(&format!("{}\n", wrap(&line, screen, columns.indent(screen))));
        }
    }
    for diagnostic in &resolution.diagnostics {
        text.push_str(&format!("\n{}\n", wrap(&describe_diagnostic(resolution, diagnostic), screen, INDENT)));
    }
    text
}

pub(super) fn describe_diagnostic(resolution: &Resolution, diagnostic: &Diagnostic) -> String {
    let (word, style) = match diagnostic.severity {
        Severity::Error => ("error", AnsiColor::Red.on_default()),
        Severity::Warning => ("warning", AnsiColor::Yellow.on_default()),
    };
    let viewpoint = Viewpoint::of(resolution);
    let place = match (&diagnostic.path, diagnostic.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", viewpoint.path(path)),
        (Some(path), None) => format!("{}: ", viewpoint.path(path)),
        _ => String::new(),
    };
    let word = paint(style, word);
    format!("{word}: {place}{} ({})", plain(&diagnostic.message), diagnostic.code)
}

/// Indentation of wrapped lines.
pub(super) const INDENT: usize = 2;
/// Indentation of wrapped lines in the heading.
const HEADING_INDENT: usize = 9;
/// Minimum width of a reason beside the outcome.
const MIN_REASON: usize = 30;

/// Maximum number of directories named if nothing applies.
const NAMED_DIRECTORIES: usize = 4;

/// Explains why there is no text.
fn nothing_applies(resolution: &Resolution) -> String {
    if let Some(reason) = &resolution.switched_off {
        return format!("nothing applies: {}", plain(reason));
    }
    // An unreadable file is a more likely cause than a missing one, and searching for other names would not
    // help.
    if resolution.decisions.iter().any(|decision| decision.outcome == Outcome::Unreadable) {
        return "nothing applies, because a file or directory cannot be read".to_owned();
    }
    let mut names = Vec::new();
    let mut directories = Vec::new();
    for decision in resolution.decisions.iter().filter(|decision| decision.outcome == Outcome::Absent) {
        let directory = plain(decision.path.parent().unwrap_or(&decision.path).to_string_lossy());
        // Every directory has a decision for every name, so each name and each directory is listed only once.
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
    format!("nothing applies; searched for {} in {}{more}", names.join(", "), directories.join(", "))
}

/// Colors a word if colors are enabled.
pub(crate) fn paint(style: Style, word: &str) -> String {
    if is_coloured() { format!("{style}{word}{style:#}") } else { word.to_owned() }
}

fn heading(resolution: &Resolution) -> String {
    let root = match &resolution.root {
        Some(root) => format!("{}: {}", plain(root.to_string_lossy()), resolution.root_reason),
        None => format!("none: {}", resolution.root_reason),
    };
    let kept = kept_bytes(resolution);
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
        // Some text is more than nothing, so a tiny share must not be rounded down to 0 %.
        Some(0) if bytes > 0 => " (under 1 %)".to_owned(),
        Some(percent) => format!(" ({percent} %)"),
        None => String::new(),
    }
}

/// Formats the size of a file's included and total text.
fn size(resolution: &Resolution, file: &InstructionFile) -> String {
    let bytes = count(file.bytes, "byte");
    if file.truncated && file.kept_bytes == 0 {
        return format!("none of {bytes}");
    }
    let kept = if file.truncated { format!("{} of ", file.kept_bytes) } else { String::new() };
    let share = if file.limited { share(file.kept_bytes, resolution.limit_bytes) } else { String::new() };
    format!("{kept}{bytes}{share}, about {}", count(tokens(&file.text) as u64, "token"))
}

/// Widths of the name and outcome columns.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    name: usize,
    outcome: usize,
}

impl Columns {
    pub(super) fn new(name: usize, outcome: usize) -> Self {
        Self { name: name.clamp(10, 40), outcome: outcome.max(12) }
    }

    /// Drops the columns if the screen is too narrow for a reason behind them.
    pub(super) fn on(self, screen: Option<usize>) -> Self {
        if self.is_too_wide(screen) { Self { name: 0, outcome: 0 } } else { self }
    }

    fn is_too_wide(self, screen: Option<usize>) -> bool {
        screen.is_some_and(|screen| screen < self.reason() + MIN_REASON)
    }

    /// Returns the column where reasons start.
    fn reason(self) -> usize {
        INDENT + 2 + self.name + 2 + self.outcome + 2
    }

    /// Formats a name and its outcome.
    pub(super) fn row(self, name: &str, word: &str) -> String {
        let width = self.name;
        format!("  - {name:width$}  {word}")
    }

    /// Returns the indentation of wrapped reasons: below their start, or less on a narrow screen.
    pub(super) fn indent(self, screen: Option<usize>) -> usize {
        if self.name == 0 || self.is_too_wide(screen) { 2 * INDENT + 2 } else { self.reason() }
    }
}

/// Formats a candidate under the given name with its outcome.
pub(super) fn line(resolution: &Resolution, decision: &Decision, name: &str, columns: Columns) -> String {
    let (sign, word, style) = appearance(decision.outcome);
    let mut facts = Vec::new();
    let is_shown = matches!(decision.outcome, Outcome::Used | Outcome::Truncated | Outcome::OverBudget);
    if let Some(file) = resolution.files.iter().find(|file| is_shown && file.path == decision.path) {
        if file.scope == FileScope::Rule {
            facts.push("rule".to_owned());
        }
        facts.push(size(resolution, file));
    }
    if let Some(by) = &decision.by {
        // A file in the same directory is named without its path, because the reader sees that directory in the
        // heading.
        let here = by.parent() == decision.path.parent();
        let by = match by.file_name().filter(|_| here) {
            Some(name) => plain(name.to_string_lossy()),
            None => Viewpoint::of(resolution).sentence(&by.to_string_lossy()),
        };
        facts.push(match decision.outcome {
            Outcome::Duplicate => format!("of {by}"),
            _ => format!("by {by}, which comes first"),
        });
    }
    facts.extend(decision.detail().map(|detail| Viewpoint::of(resolution).sentence(&detail)));
    let Columns { name: width, outcome } = columns;
    let word = paint(style, &format!("{word:outcome$}"));
    let line = format!("  {sign} {name:width$}  {word}  {}", facts.join("; "));
    // Without facts, the padding of the outcome would leave spaces at the end of the line.
    line.trim_end().to_owned()
}

/// Escapes a file name so that it stays on one line.
fn name(decision: &Decision) -> String {
    plain(decision.path.file_name().unwrap_or(decision.path.as_os_str()).to_string_lossy())
}
