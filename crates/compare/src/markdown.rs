//! A comparison as Markdown, for an issue or a page.

use std::fmt::Write as _;
use std::path::Path;

use protocol::{BlockRole, ComparedFile, Comparison, ReadingTime};

use crate::words::{grouped, one_line, outcome_word};

/// Returns tables of agents and files, and the differences. Paths below `base` are relative to it.
pub fn markdown(comparison: &Comparison, base: &Path) -> String {
    let mut text = format!("# What agents read in {}\n\n", code(&comparison.path));
    text.push_str("| agent | version | role | files | bytes | tokens | lost bytes |\n");
    text.push_str("| --- | --- | --- | ---: | ---: | ---: | ---: |\n");
    for agent in &comparison.agents {
        let version = agent.version.as_deref().unwrap_or("");
        let role = match agent.role {
            Some(BlockRole::System) => "system",
            Some(BlockRole::Developer) => "developer",
            Some(BlockRole::User) => "user",
            None => "-",
        };
        let files = agent.files.iter().filter(|file| file.role.is_some()).count();
        let _ = writeln!(
            text,
            "| {} | {version} | {role} | {files} | {} | {} | {} |",
            agent.agent,
            grouped(agent.bytes),
            grouped(agent.tokens),
            grouped(agent.lost_bytes)
        );
    }
    let paths = paths(comparison);
    if !paths.is_empty() {
        text.push_str("\n| file |");
        for agent in &comparison.agents {
            let _ = write!(text, " {} |", agent.agent);
        }
        text.push_str("\n| --- |");
        text.push_str(&" --- |".repeat(comparison.agents.len()));
        text.push('\n');
        for path in paths {
            let _ = write!(text, "| {} |", code(&shown(base, path)));
            for agent in &comparison.agents {
                let file = agent.files.iter().find(|file| file.path == path);
                let _ = write!(text, " {} |", file.map_or_else(String::new, cell));
            }
            text.push('\n');
        }
    }
    if !comparison.differences.is_empty() {
        text.push('\n');
        for difference in &comparison.differences {
            let _ = writeln!(text, "- {}", escaped(difference));
        }
    }
    text
}

/// Returns every file that concerns an agent, by depth.
pub fn paths(comparison: &Comparison) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    for file in comparison.agents.iter().flat_map(|agent| &agent.files) {
        if !paths.contains(&file.path.as_str()) {
            paths.push(&file.path);
        }
    }
    paths.sort_by_key(|path| Path::new(path).components().count());
    paths
}

/// Returns a file's outcome for one agent in a few words.
pub fn cell(file: &ComparedFile) -> String {
    let mut cell = outcome_word(file.outcome).to_owned();
    if file.role.is_some() && file.kept_bytes < file.bytes {
        let _ = write!(cell, " ({} of {})", grouped(file.kept_bytes), grouped(file.bytes));
    }
    if file.when == ReadingTime::Reading {
        cell.push_str(", when a tool reads there");
    }
    cell
}

fn shown(base: &Path, path: &str) -> String {
    let below = Path::new(path).strip_prefix(base).ok().and_then(Path::to_str);
    one_line(below.unwrap_or(path))
}

/// Escapes untrusted text, so that it cannot begin a cell, a tag or markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        if matches!(letter, '|' | '<' | '`' | '*' | '_' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Returns a name as inline code. Within a table, a vertical bar must be escaped even in code.
pub(crate) fn code(text: &str) -> String {
    let text = one_line(text);
    if text.contains('`') { escaped(&text) } else { format!("`{}`", text.replace('|', "\\|")) }
}
