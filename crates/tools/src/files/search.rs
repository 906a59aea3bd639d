//! `search` finds lines that match a pattern, in files that version control does not ignore.

mod lines;
mod walk;

use std::path::PathBuf;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use protocol::Hint as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::blocking::{self, BlockingWork};
use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};
use lines::SearchMatches;
use walk::TreeWalk;

/// Searches files for lines that match a pattern.
#[derive(Debug, Clone, Copy, Default)]
pub struct Search;

/// Most memory of a compiled pattern and of its matching cache.
const MAX_PATTERN_MEMORY: usize = 8 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// A regular expression in Rust's syntax, matched against single lines. `(?i)` at its start ignores letter case.
    pattern: String,
    /// The file or directory to search, absolute or relative to the working directory. Default: the working directory.
    path: Option<PathBuf>,
    /// Which files to search, such as `*.rs` or `src/**/*.{ts,tsx}`; with `!` in front, which not to.
    glob: Option<String>,
}

impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "search",
            "Searches files for lines that match a regular expression and answers with path:line:text. Leaves out what .gitignore names, version control's own directories and binary files.",
        )
    }

    fn needs(&self, arguments: &ToolArguments) -> Needs {
        Needs::read(arguments.text("path").unwrap_or("."))
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        blocking::run(context, &arguments, search).await
    }
}

fn search(
    context: &ToolContext,
    parameters: &Parameters,
    work: &BlockingWork,
) -> Result<ToolOutput, FileError> {
    let limits = context.limits();
    let matcher = matcher(&parameters.pattern, limits.pattern_bytes)?;
    let start = parameters.path.clone().unwrap_or_else(|| ".".into());
    let place = context.find(&start)?;
    let mut found = SearchMatches::new(context, matcher, work, limits.search_matches.max(1));
    let mut walk = TreeWalk::new(place.root(), context.hidden(), work, limits.search_entries);
    if place.is_directory() {
        let globs = globs(context, parameters.glob.as_deref(), limits.pattern_bytes)?;
        walk.directory(&place, &globs, &mut found)?;
    } else {
        let (file, _) = place.open_file()?;
        found.search(file, &place.real());
    }
    if work.is_cancelled() {
        return Err(FileError::Cancelled);
    }
    let found_directories = found.directories.iter().map(|directory| context.as_given(directory)).collect();
    Ok(ToolOutput { found_directories, ..answer(found, &walk, work) })
}

fn answer(found: SearchMatches<'_>, walk: &TreeWalk<'_>, work: &BlockingWork) -> ToolOutput {
    let files = found.files;
    let mut notes = Vec::new();
    if found.text.is_empty() {
        let is_complete = !walk.cut_short && !walk.too_deep && found.failures == 0 && work.check().is_ok();
        match files {
            // Otherwise a model takes a glob that matches nothing for a text that does not occur.
            0 if is_complete => {
                notes.push("no file was searched: path and glob fit none, or only ignored ones".to_owned());
            }
            // A note below gives the reason.
            0 => {}
            1 => notes.push("no line matches in 1 file".to_owned()),
            files => notes.push(format!("no line matches in {files} files")),
        }
    }
    if found.is_full() {
        notes.push(format!(
            "only the first {} lines that match; use a narrower pattern, path or glob",
            found.limit
        ));
    }
    if !found.is_full() && walk.cut_short {
        notes.push("there are too many files, and not all were searched; use a narrower path".to_owned());
    }
    if walk.too_deep {
        notes.push("directories that are nested very deeply were not searched".to_owned());
    }
    if let Err(error @ FileError::TooSlow(_)) = work.check() {
        let hint = error.hint().unwrap_or_default();
        notes.push(format!("not all files were searched: {error}; {hint}"));
    }
    if let Some((path, reason)) = &found.failed {
        let path = path.display();
        notes.push(match found.failures {
            1 => format!("{path} could not be searched: {reason}"),
            failures => format!("{failures} files could not be searched, such as {path}: {reason}"),
        });
    }
    let remedy = "Use a narrower pattern, path or glob.";
    ToolOutput { notes, ..ToolOutput::text(found.text).with_remedy(remedy) }
}

fn matcher(pattern: &str, limit: usize) -> Result<RegexMatcher, FileError> {
    if pattern.is_empty() {
        return Err(FileError::Other("`pattern` is empty".to_owned()));
    }
    if pattern.len() > limit {
        let length = pattern.len();
        return Err(FileError::Other(format!("`pattern` has {length} bytes; at most {limit} are taken")));
    }
    RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_PATTERN_MEMORY)
        .build(pattern)
        .map_err(FileError::Pattern)
}

fn globs(context: &ToolContext, glob: Option<&str>, limit: usize) -> Result<Override, FileError> {
    let Some(glob) = glob else { return Ok(Override::empty()) };
    if glob.len() > limit {
        return Err(FileError::Other(format!("`glob` has {} bytes; at most {limit} are taken", glob.len())));
    }
    // Relative to the working directory, like paths.
    let mut builder = OverrideBuilder::new(context.real_cwd());
    let built = builder.add(glob).and_then(|builder| builder.build());
    built.map_err(FileError::Glob)
}
