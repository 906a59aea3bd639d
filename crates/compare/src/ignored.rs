//! Which instruction files may be where version control ignores them.
//!
//! A walk that goes by `.gitignore` passes them over, and agents read them. To look for every name in every directory would
//! cost more than the walk; so the patterns are asked which of the names they can mean, and where.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Longest file of patterns that is read.
pub(crate) const MAX_PATTERNS_BYTES: u64 = 4 * 1024 * 1024;

/// Names that may be ignored in some directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignored {
    places: Vec<IgnoredNames>,
}

#[derive(Debug, PartialEq, Eq)]
struct IgnoredNames {
    directory: PathBuf,
    reach: Reach,
    names: Vec<String>,
}

/// Where a pattern counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// In the directory alone.
    Here,
    /// In the directory and in those below it.
    Below,
}

impl Ignored {
    /// What the patterns of some files mean, each file with the directory that its patterns count from.
    pub(crate) fn read(files: impl IntoIterator<Item = (PathBuf, PathBuf)>, names: &[String]) -> Self {
        let mut ignored = Self::default();
        for (directory, file) in files {
            let is_readable =
                file.metadata().is_ok_and(|file| file.is_file() && file.len() <= MAX_PATTERNS_BYTES);
            if let Some(bytes) = is_readable.then(|| std::fs::read(&file).ok()).flatten() {
                ignored.add(&directory, &String::from_utf8_lossy(&bytes), names);
            }
        }
        ignored
    }

    fn add(&mut self, directory: &Path, patterns: &str, names: &[String]) {
        for pattern in patterns.lines() {
            let Some((literal, reach, last)) = split(pattern) else { continue };
            let Some(matcher) = matcher(last) else { continue };
            // A folder that is ignored is looked for like a file.
            let means = |name: &&String| {
                matcher.matched(name, false).is_ignore() || matcher.matched(name, true).is_ignore()
            };
            let names: Vec<String> = names.iter().filter(means).cloned().collect();
            if names.is_empty() {
                continue;
            }
            let place = IgnoredNames { directory: directory.join(literal), reach, names };
            if !self.places.contains(&place) {
                self.places.push(place);
            }
        }
    }

    /// Names that may be ignored in a directory.
    pub(crate) fn names_in<'a>(&'a self, directory: &Path) -> Vec<&'a str> {
        let counts = |place: &&IgnoredNames| match place.reach {
            Reach::Here => place.directory == directory,
            Reach::Below => directory.starts_with(&place.directory),
        };
        let mut names: Vec<&str> =
            self.places.iter().filter(counts).flat_map(|place| &place.names).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A pattern as the directories that it names literally, how far it reaches from there, and its last part.
fn split(pattern: &str) -> Option<(PathBuf, Reach, &str)> {
    let pattern = pattern.trim_end();
    // What is taken back from what is ignored is found by the walk.
    if pattern.is_empty() || pattern.starts_with(['#', '!']) {
        return None;
    }
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let Some((before, last)) = pattern.rsplit_once('/') else {
        return Some((PathBuf::new(), Reach::Below, pattern));
    };
    let is_literal = |part: &&str| !part.contains(['*', '?', '[', '\\']);
    let parts: Vec<&str> = before.split('/').filter(|part| !part.is_empty()).collect();
    let literal: PathBuf = parts.iter().take_while(|part| is_literal(part)).collect();
    let is_exact = parts.iter().all(is_literal) && last != "**";
    Some((literal, if is_exact { Reach::Here } else { Reach::Below }, last))
}

fn matcher(last: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    // One that is no pattern ignores nothing.
    builder.add_line(None, last).ok()?;
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(patterns: &str, directory: &str) -> Vec<String> {
        let names = ["AGENTS.md", "CLAUDE.local.md", ".claude"].map(str::to_owned);
        let mut ignored = Ignored::default();
        ignored.add(Path::new("/r"), patterns, &names);
        ignored.names_in(Path::new(directory)).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_pattern_means_names_where_it_counts() {
        for (patterns, directory, expected) in [
            ("CLAUDE.local.md", "/r/a/b", vec!["CLAUDE.local.md"]),
            ("*.local.md\n", "/r", vec!["CLAUDE.local.md"]),
            ("a/AGENTS.md", "/r/a", vec!["AGENTS.md"]),
            ("a/AGENTS.md", "/r/a/b", vec![]),
            ("a/AGENTS.md", "/r/b", vec![]),
            ("/AGENTS.md", "/r", vec!["AGENTS.md"]),
            ("/AGENTS.md", "/r/a", vec![]),
            ("**/AGENTS.md", "/r/a/b", vec!["AGENTS.md"]),
            ("a/*/AGENTS.md", "/r/a/b", vec!["AGENTS.md"]),
            ("a/**", "/r/a/b", vec![".claude", "AGENTS.md", "CLAUDE.local.md"]),
            ("a/**", "/r/b", vec![]),
            (".claude/", "/r/a", vec![".claude"]),
            ("# AGENTS.md\n!AGENTS.md\nnode_modules/\n*.log", "/r", vec![]),
        ] {
            assert_eq!(names_in(patterns, directory), expected, "{patterns} in {directory}");
        }
    }
}
