//! Locations of instruction files that version control ignores.
//!
//! A walk that respects `.gitignore` skips these files, but agents read them. Looking for every name in every
//! directory would cost more than the walk, so the patterns are matched against the names instead.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Largest file of patterns that is read.
pub(crate) const MAX_PATTERNS_BYTES: u64 = 4 * 1024 * 1024;

/// Names that may be ignored in some directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignored {
    places: Vec<IgnoredNames>,
}

#[derive(Debug, PartialEq, Eq)]
struct IgnoredNames {
    directory: PathBuf,
    reach: PatternReach,
    names: Vec<String>,
}

/// Scope of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PatternReach {
    /// Only the directory itself.
    Here,
    /// The directory and everything below it.
    Below,
}

impl Ignored {
    /// Reads files of patterns, each with the directory that its patterns are relative to.
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
            // Names of folders are searched for like names of files.
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

    /// Returns the names that may be ignored in a directory.
    pub(crate) fn names_in<'a>(&'a self, directory: &Path) -> Vec<&'a str> {
        let counts = |place: &&IgnoredNames| match place.reach {
            PatternReach::Here => place.directory == directory,
            PatternReach::Below => directory.starts_with(&place.directory),
        };
        let mut names: Vec<&str> =
            self.places.iter().filter(counts).flat_map(|place| &place.names).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Splits a pattern into its literal directories, its scope, and its last part.
fn split(pattern: &str) -> Option<(PathBuf, PatternReach, &str)> {
    let pattern = pattern.trim_end();
    // The walk itself finds files that a later pattern includes again.
    if pattern.is_empty() || pattern.starts_with(['#', '!']) {
        return None;
    }
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let Some((before, last)) = pattern.rsplit_once('/') else {
        return Some((PathBuf::new(), PatternReach::Below, pattern));
    };
    // Only the literal beginning limits the scope. Anything after a wildcard is ignored here, which finds too many
    // candidates; each is looked up on disk later, so none is reported wrongly.
    let is_literal = |part: &&str| !part.contains(['*', '?', '[', '\\']);
    let parts: Vec<&str> = before.split('/').filter(|part| !part.is_empty()).collect();
    let literal: PathBuf = parts.iter().take_while(|part| is_literal(part)).collect();
    let is_exact = parts.iter().all(is_literal) && last != "**";
    Some((literal, if is_exact { PatternReach::Here } else { PatternReach::Below }, last))
}

fn matcher(last: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    // An invalid pattern ignores nothing, as with Git.
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
    fn patterns_match_names_in_their_scope() {
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
