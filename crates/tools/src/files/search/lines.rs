//! The lines that match a search.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::ToolContext;
use crate::files::blocking::BlockingWork;
use crate::files::list_dir::one_line;

/// Most characters shown of a line, and how many of them precede the match.
const MAX_LINE_CHARS: usize = 300;
const CHARS_BEFORE: usize = 100;
/// Most bytes of a line that is searched.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Matches found so far.
pub(super) struct SearchMatches<'a> {
    context: &'a ToolContext,
    matcher: RegexMatcher,
    searcher: Searcher,
    work: &'a BlockingWork,
    pub(super) limit: usize,
    /// Matching lines as the answer shows them.
    pub(super) text: String,
    matches: usize,
    /// Resolved directories of files with matches.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Number of searched files.
    pub(super) files: usize,
    /// Number of files that could not be searched, and the first of them.
    pub(super) failures: usize,
    pub(super) failed: Option<(PathBuf, String)>,
}

impl<'a> SearchMatches<'a> {
    pub(super) fn new(
        context: &'a ToolContext,
        matcher: RegexMatcher,
        work: &'a BlockingWork,
        limit: usize,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            // A zero byte ends the search of a file, because lines of binary files are long and useless to a model.
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .line_number(true)
            .build();
        let text = String::new();
        Self {
            context,
            matcher,
            searcher,
            work,
            limit,
            text,
            matches: 0,
            directories: BTreeSet::new(),
            files: 0,
            failures: 0,
            failed: None,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.matches >= self.limit
    }

    pub(super) fn fail(&mut self, path: &Path, reason: String) {
        self.failures += 1;
        self.failed.get_or_insert_with(|| (self.context.shown(path), reason));
    }

    /// Searches a file.
    pub(super) fn search(&mut self, file: File, path: &Path) {
        self.files += 1;
        let before = self.matches;
        let shown = one_line(self.context.shown(path).as_os_str());
        let mut lines = MatchSink {
            path: &shown,
            matcher: &self.matcher,
            text: &mut self.text,
            matches: &mut self.matches,
            limit: self.limit,
        };
        let reader = LimitedFile { file, work: self.work };
        // An error after the deadline is the deadline's own, which the answer reports once for the whole search.
        if let Err(error) = self.searcher.search_reader(&self.matcher, reader, &mut lines)
            && self.work.check().is_ok()
        {
            self.fail(path, error.to_string());
        }
        if self.matches > before {
            self.directories.extend(path.parent().map(Path::to_owned));
        }
    }
}

/// A file whose reads fail once the work is cancelled or late.
struct LimitedFile<'a> {
    file: File,
    work: &'a BlockingWork,
}

impl Read for LimitedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.work.check().map_err(io::Error::other)?;
        self.file.read(buffer)
    }
}

struct MatchSink<'a> {
    path: &'a str,
    matcher: &'a RegexMatcher,
    text: &'a mut String,
    matches: &'a mut usize,
    limit: usize,
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = found.bytes().trim_ascii_end();
        let at = self.matcher.find(line).ok().flatten().map_or(0, |range| range.start());
        let number = found.line_number().unwrap_or(0);
        let _ = writeln!(self.text, "{}:{number}:{}", self.path, window(line, at));
        *self.matches += 1;
        Ok(*self.matches < self.limit)
    }
}

/// Returns the part of a long line around the match.
fn window(line: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(line);
    if text.chars().count() <= MAX_LINE_CHARS {
        return text.into_owned();
    }
    let before = String::from_utf8_lossy(&line[..at.min(line.len())]).chars().count();
    let from = before.saturating_sub(CHARS_BEFORE);
    let shown: String = text.chars().skip(from).take(MAX_LINE_CHARS).collect();
    let start = if from > 0 { "…" } else { "" };
    let end = if text.chars().count() > from + MAX_LINE_CHARS { "…" } else { "" };
    format!("{start}{shown}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_shows_the_match() {
        assert_eq!(window(b"short", 2), "short");
        let line = format!("{}ä{}", "a".repeat(1000), "b".repeat(1000));
        let shown = window(line.as_bytes(), 1000);
        assert_eq!(shown.chars().count(), MAX_LINE_CHARS + 2);
        assert!(shown.starts_with("…a") && shown.contains("aäb") && shown.ends_with("b…"));
    }
}
