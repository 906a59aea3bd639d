//! Changes as text for people, as a comment on a pull request, and as annotations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Change, Changes, NewlyLost};
use crate::annotation::{annotation_data, annotation_property};
use crate::markdown::{code, escaped};
use crate::words::{bytes, grouped, list, one_line};

/// First line of a comment, by which a later run finds the comment to replace.
const MARK: &str = "<!-- foreword-diff -->";
/// Longest comment that GitHub accepts, in characters.
const MAX_COMMENT: usize = 65_536;
/// Room for the line that counts the omitted rows.
const OMISSION: usize = 200;
/// Most names in one list.
const MAX_NAMES: usize = 8;

/// A change in the same words, with the directories and agents that it affects.
struct Row<'a> {
    agents: Vec<&'a str>,
    change: &'a Change,
    /// First directories, and the number of all.
    directories: Vec<&'a str>,
    count: usize,
    /// True if every directory has the same number of tokens.
    is_even: bool,
}

impl Change {
    /// Returns the tokens that the change adds.
    fn tokens_added(&self) -> i128 {
        i128::from(self.after.tokens) - i128::from(self.before.tokens)
    }

    /// Returns true if both are described by the same words. The files that do not change, and the order, may differ.
    fn looks_like(&self, other: &Self) -> bool {
        let seen = |change: &Self| {
            let Self { added, removed, edited, newly_lost, .. } = change.clone();
            let mut lists = [added, removed, edited];
            lists.iter_mut().for_each(|list| list.sort_unstable());
            let less_lost = change.before.lost_bytes.saturating_sub(change.after.lost_bytes);
            (lists, newly_lost, less_lost, change.tokens_added())
        };
        seen(self) == seen(other)
    }
}

impl<'a> Row<'a> {
    fn new(agent: &'a str, change: &'a Change) -> Self {
        let directories = change.directories.iter().map(String::as_str).collect();
        Self { agents: vec![agent], change, directories, count: change.count, is_even: true }
    }

    /// Adds the directories of a change in the same words.
    fn extend(&mut self, change: &'a Change) {
        self.directories.extend(change.directories.iter().map(String::as_str));
        self.directories.sort_unstable_by_key(|path| (super::group::depth(path), *path));
        self.count += change.count;
        self.is_even &= self.change.before.tokens == change.before.tokens;
    }

    /// Returns true if two agents are affected in the same way.
    fn is_same(&self, other: &Self) -> bool {
        self.count == other.count
            && self.directories == other.directories
            && self.is_even == other.is_even
            && self.change.looks_like(other.change)
            && (!self.is_even || self.change.before.tokens == other.change.before.tokens)
    }
}

impl Changes {
    /// Returns the changes by importance, each once for all directories and agents with the same words.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for agent in &self.agents {
            let mut own: Vec<Row<'_>> = Vec::new();
            for change in &agent.changes {
                match own.iter_mut().find(|row| row.change.looks_like(change)) {
                    Some(row) => row.extend(change),
                    None => own.push(Row::new(agent.agent, change)),
                }
            }
            for row in own {
                match rows.iter_mut().find(|known| known.is_same(&row)) {
                    Some(known) => known.agents.push(agent.agent),
                    None => rows.push(row),
                }
            }
        }
        rows.sort_by_cached_key(|row| super::group::importance(row.change));
        rows
    }

    /// Returns a line for each group of directories, the most important first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows() {
            let _ = writeln!(
                text,
                "{}: {} ({})  {}",
                directories(&row, one_line),
                sentence(row.change, one_line),
                tokens(&row),
                row.agents.join(", ")
            );
        }
        for (agent, refusal) in self.refusals() {
            let _ = writeln!(text, "{agent}: {}", one_line(refusal));
        }
        let _ = writeln!(text, "{}", self.summary_line());
        text
    }

    /// Returns one comment for a pull request.
    pub fn markdown(&self) -> String {
        let mut text = format!("{MARK}\n### What coding agents read\n\n{}\n", self.summary_line());
        let _ = writeln!(text, "Compared `{}` with `{}`.", short(&self.base), short(&self.head));
        for (agent, refusal) in self.refusals() {
            let _ = writeln!(text, "\n**{agent}** would not start: {}", escaped(refusal));
        }
        let rows = self.rows();
        if rows.is_empty() {
            return text;
        }
        text.push_str("\n| directories | agents | change | tokens |\n| --- | --- | --- | ---: |\n");
        let mut left = MAX_COMMENT.saturating_sub(text.chars().count() + OMISSION);
        for (index, row) in rows.iter().enumerate() {
            let line = format!(
                "| {} | {} | {} | {} |\n",
                directories(row, code),
                row.agents.join(", "),
                sentence(row.change, code),
                tokens(row)
            );
            let size = line.chars().count();
            if size > left {
                let _ = writeln!(
                    text,
                    "\n{} more changes do not fit here.",
                    grouped((rows.len() - index) as u64)
                );
                return text;
            }
            left -= size;
            text.push_str(&line);
        }
        text
    }

    /// Returns an annotation for each file that agents newly lose, no longer read, newly read, or read with another text.
    pub fn github(&self) -> String {
        let mut notes: BTreeMap<(Importance, &str), Vec<&str>> = BTreeMap::new();
        for row in self.rows() {
            let lost = row.change.newly_lost.iter().map(|NewlyLost { path, bytes }| {
                (Importance::Lost(std::cmp::Reverse(*bytes)), path.as_str())
            });
            let named = |importance: Importance, paths: &'static dyn Fn(&Change) -> &Vec<String>| {
                paths(row.change).iter().map(move |path| (importance, path.as_str()))
            };
            let all = lost
                .chain(named(Importance::Removed, &|change| &change.removed))
                .chain(named(Importance::Added, &|change| &change.added))
                .chain(named(Importance::Edited, &|change| &change.edited));
            for key in all {
                let agents = notes.entry(key).or_default();
                agents.extend(row.agents.iter().filter(|agent| !agents.contains(agent)).collect::<Vec<_>>());
            }
        }
        let mut text = String::new();
        for ((importance, path), agents) in notes {
            let (command, message) = importance.message(&agents.join(", "));
            let file = annotation_property(path);
            let _ =
                writeln!(text, "::{command} file={file},title=foreword diff::{}", annotation_data(&message));
        }
        for (agent, refusal) in self.refusals() {
            let message = annotation_data(&format!("{agent} would not start: {refusal}"));
            let _ = writeln!(text, "::warning title=foreword diff::{message}");
        }
        text
    }

    fn refusals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.agents.iter().filter_map(|agent| Some((agent.agent, agent.refusal.as_deref()?)))
    }

    fn summary_line(&self) -> String {
        let summary = &self.summary;
        if summary.agents == 0 {
            return format!("no change for {}", number(self.agents.len(), "agent", "agents"));
        }
        let sign = if summary.tokens_added < 0 { "-" } else { "+" };
        let mut line = format!(
            "{} and {} affected, {sign}{} tokens",
            number(summary.directories, "directory", "directories"),
            number(summary.agents, "agent", "agents"),
            grouped(summary.tokens_added.unsigned_abs())
        );
        if summary.newly_lost_bytes > 0 {
            let _ = write!(line, ", {} newly lost", bytes(summary.newly_lost_bytes));
        }
        line
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    Lost(std::cmp::Reverse<u64>),
    Removed,
    Added,
    Edited,
}

impl Importance {
    fn message(self, agents: &str) -> (&'static str, String) {
        match self {
            Self::Lost(number) => {
                ("warning", format!("{} of this file newly do not reach {agents}", bytes(number.0)))
            }
            Self::Removed => ("warning", format!("no longer read by {agents}")),
            Self::Added => ("notice", format!("newly read by {agents}")),
            Self::Edited => ("notice", format!("another text for {agents}")),
        }
    }
}

fn number(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number as u64), if number == 1 { one } else { many })
}

/// Returns the first digits of a commit's name.
fn short(revision: &str) -> &str {
    revision.get(..12).unwrap_or(revision)
}

fn directories(row: &Row<'_>, shown: impl Fn(&str) -> String) -> String {
    // A top with everything below it is the usual group, and the names of its directories would add nothing.
    let named = if row.count > 3 { 1 } else { row.directories.len() };
    let names: Vec<String> = row.directories.iter().take(named).map(|path| shown(path)).collect();
    match row.count - names.len() {
        0 => list(&names),
        more => format!("{} and {}", names.join(", "), number(more, "other directory", "other directories")),
    }
}

fn tokens(row: &Row<'_>) -> String {
    let (before, after) = (row.change.before.tokens, row.change.after.tokens);
    let sign = if after < before { "-" } else { "+" };
    let added = format!("{sign}{}", grouped(after.abs_diff(before)));
    match row.is_even {
        true => format!("{} → {} tokens, {added}", grouped(before), grouped(after)),
        false => format!("{added} tokens"),
    }
}

/// Returns the change in words, the most important first.
fn sentence(change: &Change, shown: impl Fn(&str) -> String) -> String {
    let names = |paths: &[String]| {
        let mut names: Vec<String> = paths.iter().take(MAX_NAMES).map(|path| shown(path)).collect();
        if paths.len() > MAX_NAMES {
            names.push(format!("{} more", paths.len() - MAX_NAMES));
        }
        list(&names)
    };
    let mut parts: Vec<String> = change
        .newly_lost
        .iter()
        .take(MAX_NAMES)
        .map(|lost| format!("loses {} of {}", bytes(lost.bytes), shown(&lost.path)))
        .collect();
    if change.newly_lost.len() > MAX_NAMES {
        parts.push(format!("loses text of {} more files", change.newly_lost.len() - MAX_NAMES));
    }
    for (word, paths) in [
        ("no longer reads", &change.removed),
        ("newly reads", &change.added),
        ("reads another text of", &change.edited),
    ] {
        if !paths.is_empty() {
            parts.push(format!("{word} {}", names(paths)));
        }
    }
    if parts.is_empty() {
        parts.push(match change.after.lost_bytes < change.before.lost_bytes {
            true => format!("loses {} less", bytes(change.before.lost_bytes - change.after.lost_bytes)),
            false => "reads the same files in another order or extent".to_owned(),
        });
    }
    parts.join("; ")
}
