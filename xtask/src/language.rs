//! Measures the language of comments and docs, and fails above the limits.
//!
//! The measures count patterns that made the text hard to read: sentences that begin with a relative clause, and vague
//! subjects and verbs. The limits leave room for ordinary uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::failure::check_failed;
use crate::print_status;

/// A pattern and the number of matches allowed in a thousand lines.
struct Measure {
    name: &'static str,
    limit: usize,
    count: fn(&[String]) -> usize,
}

const MEASURES: &[Measure] = &[
    Measure {
        name: "sentences that start with What, Whether, Which, Who, Whose, How, Why, Where or When",
        limit: 25,
        count: |words| {
            usize::from(starts_with(
                words,
                &["What", "Whether", "Which", "Who", "Whose", "How", "Why", "Where", "When"],
            ))
        },
    },
    Measure {
        name: "somebody, nobody, whoever, everybody",
        limit: 1,
        count: |words| count_of(words, &["somebody", "nobody", "whoever", "everybody"]),
    },
    Measure { name: "say, says, said", limit: 5, count: |words| count_of(words, &["say", "says", "said"]) },
    Measure {
        name: "tell, tells, told",
        limit: 3,
        count: |words| count_of(words, &["tell", "tells", "told"]),
    },
    Measure {
        name: "none where, none when, none for",
        limit: 1,
        count: |words| count_pairs(words, &["none"], &["where", "when", "for"]),
    },
    Measure {
        name: "became of, becomes of",
        limit: 0,
        count: |words| count_pairs(words, &["became", "becomes"], &["of"]),
    },
];

/// Files whose comments are measured.
const SOURCES: &[&str] = &["crates", "desktop", "xtask"];
/// Share of lines that are `//` comments, in tenths of a percent.
// A floor and not a goal: below it, decisions tend to be undocumented.
const MIN_COMMENTS: usize = 25;
/// Directories that hold no source of ours.
const SKIPPED: &[&str] = &["target", "node_modules"];

/// One sentence, and where it begins.
#[derive(Debug, PartialEq)]
struct Sentence {
    path: String,
    line: usize,
    text: String,
}

/// Sentences and line counts of a set of files.
#[derive(Default)]
struct Corpus {
    /// Lines of prose: comments and docs of source files, all lines of a page.
    lines: usize,
    /// All lines that are not blank.
    all_lines: usize,
    /// Lines that are plain `//` comments.
    plain_comments: usize,
    sentences: Vec<Sentence>,
}

/// Prints the figures of the tree and fails if one is above its limit.
pub(crate) fn check(root: &Path) -> Result<()> {
    let sources = sources(root, SOURCES)?;
    let pages = pages(root)?;
    let mut problems = report("comments", &sources);
    problems.extend(report("pages", &pages));
    let share = sources.plain_comments * 1000 / sources.all_lines.max(1);
    print_status(format!(
        "language: {} of {} lines are `//` comments ({}.{} %)",
        sources.plain_comments,
        sources.all_lines,
        share / 10,
        share % 10
    ));
    if share < MIN_COMMENTS {
        problems.push(format!(
            "fewer than {}.{} % of lines are `//` comments",
            MIN_COMMENTS / 10,
            MIN_COMMENTS % 10
        ));
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.iter().for_each(|problem| print_status(format!("language: {problem}")));
    Err(check_failed(format!("{} language limits are exceeded", problems.len())))
}

/// Prints figures for each crate, or every match below the given paths.
pub(crate) fn print(root: &Path, paths: &[PathBuf]) -> Result<()> {
    if paths.is_empty() {
        return print_crates(root);
    }
    for path in paths {
        let mut corpus = Corpus::default();
        add_file_or_directory(root, &root.join(path), &mut corpus)?;
        for sentence in &corpus.sentences {
            let words = words(&sentence.text);
            if MEASURES.iter().any(|measure| (measure.count)(&words) > 0) {
                print_status(format!("{}:{}: {}", sentence.path, sentence.line, sentence.text));
            }
        }
        report(&path.display().to_string(), &corpus);
    }
    Ok(())
}

fn print_crates(root: &Path) -> Result<()> {
    let mut names = vec!["desktop".to_owned(), "xtask".to_owned()];
    for entry in fs::read_dir(root.join("crates")).context("failed to list crates")? {
        names.push(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    names.sort();
    for name in names {
        let corpus = sources(root, &[&name])?;
        let share = corpus.plain_comments * 1000 / corpus.all_lines.max(1);
        let counts: Vec<String> = counts(&corpus).iter().map(|(_, count)| count.to_string()).collect();
        print_status(format!(
            "{name}: {} prose lines, matches {}, `//` {}.{} %",
            corpus.lines,
            counts.join(" "),
            share / 10,
            share % 10
        ));
    }
    check(root)
}

/// Prints each measure of a corpus and returns those above their limits.
fn report(name: &str, corpus: &Corpus) -> Vec<String> {
    let mut problems = Vec::new();
    for (measure, count) in counts(corpus) {
        // In tenths, rounded up, so that a limit of 0 allows nothing.
        let tenths = (count * 10_000).div_ceil(corpus.lines.max(1));
        let rate = format!("{}.{}", tenths / 10, tenths % 10);
        print_status(format!(
            "language: {name}: {rate} in 1000 lines, at most {}: {}",
            measure.limit, measure.name
        ));
        if tenths > measure.limit * 10 {
            problems
                .push(format!("{name}: {rate} in 1000 lines is above {}: {}", measure.limit, measure.name));
        }
    }
    problems
}

fn counts(corpus: &Corpus) -> Vec<(&'static Measure, usize)> {
    let sentences: Vec<Vec<String>> = corpus.sentences.iter().map(|sentence| words(&sentence.text)).collect();
    let total = |measure: &Measure| sentences.iter().map(|words| (measure.count)(words)).sum();
    MEASURES.iter().map(|measure| (measure, total(measure))).collect()
}

fn sources(root: &Path, directories: &[&str]) -> Result<Corpus> {
    let mut corpus = Corpus::default();
    for directory in directories {
        add_file_or_directory(root, &root.join(directory), &mut corpus)?;
    }
    Ok(corpus)
}

/// Reads README.md and the pages of docs/, but not what is generated from doc comments.
fn pages(root: &Path) -> Result<Corpus> {
    let mut corpus = Corpus::default();
    add_file_or_directory(root, &root.join("README.md"), &mut corpus)?;
    for entry in fs::read_dir(root.join("docs")).context("failed to list docs")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            add_file_or_directory(root, &path, &mut corpus)?;
        }
    }
    Ok(corpus)
}

fn add_file_or_directory(root: &Path, path: &Path, corpus: &mut Corpus) -> Result<()> {
    if path.is_dir() {
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(path).with_context(|| format!("failed to list {}", path.display()))? {
            let entry = entry?;
            entries.insert(entry.file_name(), entry.path());
        }
        for (name, path) in entries {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                add_file_or_directory(root, &path, corpus)?;
            }
        }
        return Ok(());
    }
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let read = || fs::read_to_string(path).with_context(|| format!("failed to read {name}"));
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => add_source(&name, &read()?, corpus),
        Some("md") => add_page(&name, &read()?, corpus),
        _ => {}
    }
    Ok(())
}

/// Adds the comments of a source file. A paragraph ends where the kind of comment changes.
fn add_source(path: &str, text: &str, corpus: &mut Corpus) {
    let mut paragraph = Paragraph::default();
    let mut last_kind = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        corpus.all_lines += usize::from(!line.is_empty());
        // The longer markers first, because `///` also starts with `//`.
        let kind = ["///", "//!", "//"].into_iter().find(|kind| line.starts_with(kind));
        corpus.plain_comments += usize::from(kind == Some("//"));
        corpus.lines += usize::from(kind.is_some());
        if kind != last_kind {
            paragraph.finish(path, corpus);
        }
        last_kind = kind;
        if let Some(kind) = kind {
            paragraph.push(index + 1, line.strip_prefix(kind).unwrap_or(line).trim(), path, corpus);
        }
    }
    paragraph.finish(path, corpus);
}

/// Adds the prose of a Markdown page, without its blocks of code.
fn add_page(path: &str, text: &str, corpus: &mut Corpus) {
    let mut paragraph = Paragraph::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        corpus.lines += usize::from(!line.is_empty());
        if line.starts_with('|') {
            paragraph.finish(path, corpus);
            for cell in line.split('|') {
                paragraph.push(index + 1, cell.trim(), path, corpus);
                paragraph.finish(path, corpus);
            }
        } else {
            paragraph.push(index + 1, line, path, corpus);
        }
    }
    paragraph.finish(path, corpus);
}

/// Lines that belong together, not yet split into sentences.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// Offset in `text` at which each line begins, and its number.
    starts: Vec<(usize, usize)>,
    in_code: bool,
}

impl Paragraph {
    fn push(&mut self, number: usize, line: &str, path: &str, corpus: &mut Corpus) {
        if line.starts_with("```") {
            self.finish(path, corpus);
            self.in_code = !self.in_code;
            return;
        }
        if self.in_code {
            return;
        }
        // An item of a list or a heading is a sentence of its own, even without a full stop.
        let marker = ["- ", "* ", "> ", "# ", "## ", "### ", "#### "].iter();
        let content = marker.fold(line, |line, marker| line.strip_prefix(marker).unwrap_or(line));
        let is_item = content.len() != line.len() || line.starts_with(|first: char| first.is_ascii_digit());
        if line.is_empty() || is_item {
            let in_code = self.in_code;
            self.finish(path, corpus);
            self.in_code = in_code;
        }
        if !content.is_empty() {
            self.starts.push((self.text.len(), number));
            self.text.push_str(content);
            self.text.push(' ');
        }
    }

    fn finish(&mut self, path: &str, corpus: &mut Corpus) {
        let text = std::mem::take(&mut self.text);
        let starts = std::mem::take(&mut self.starts);
        let mut begin = 0;
        for (end, mark) in text.char_indices() {
            let next = text[end + mark.len_utf8()..].chars().next();
            // A full stop within a word, as in `AGENTS.md`, does not end a sentence.
            if matches!(mark, '.' | '?' | '!' | ':') && next == Some(' ') {
                let sentence = text[begin..=end].trim();
                let line =
                    starts.iter().rev().find(|(offset, _)| *offset <= begin).map_or(0, |start| start.1);
                if !sentence.is_empty() {
                    corpus.sentences.push(Sentence {
                        path: path.to_owned(),
                        line,
                        text: sentence.to_owned(),
                    });
                }
                begin = end + 1;
            }
        }
        let rest = text[begin..].trim();
        if !rest.is_empty() {
            let line = starts.iter().rev().find(|(offset, _)| *offset <= begin).map_or(0, |start| start.1);
            corpus.sentences.push(Sentence { path: path.to_owned(), line, text: rest.to_owned() });
        }
    }
}

/// Splits a sentence into words, without code spans.
fn words(sentence: &str) -> Vec<String> {
    // Code spans are cut out: names of methods and fields are not prose.
    let outside_code: String = sentence.split('`').step_by(2).collect::<Vec<_>>().join(" CODE ");
    outside_code
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn starts_with(words: &[String], openings: &[&str]) -> bool {
    words.first().is_some_and(|first| openings.iter().any(|opening| first == opening))
}

fn count_of(words: &[String], listed: &[&str]) -> usize {
    words.iter().filter(|word| listed.iter().any(|listed| word.eq_ignore_ascii_case(listed))).count()
}

fn count_pairs(words: &[String], first: &[&str], second: &[&str]) -> usize {
    let is = |word: &String, listed: &[&str]| listed.iter().any(|listed| word.eq_ignore_ascii_case(listed));
    words.windows(2).filter(|pair| is(&pair[0], first) && is(&pair[1], second)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(source: &str) -> Vec<usize> {
        let mut corpus = Corpus::default();
        add_source("a.rs", source, &mut corpus);
        counts(&corpus).into_iter().map(|(_, count)| count).collect()
    }

    #[test]
    fn each_pattern_is_counted() {
        let source =
            "/// What became of it. Nobody says\n/// or tells. None where none is.\nlet what = \"Who\";\n";
        assert_eq!(counts_of(source), [1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn code_in_comments_is_not_counted() {
        assert_eq!(counts_of("/// Calls `tell`.\n/// ```\n/// say();\n/// ```\n"), [0; 6]);
    }

    #[test]
    fn a_sentence_may_span_lines() {
        let mut corpus = Corpus::default();
        add_source("a.rs", "// One\n// sentence. When\n// two.\n", &mut corpus);
        let found: Vec<(usize, &str)> =
            corpus.sentences.iter().map(|sentence| (sentence.line, sentence.text.as_str())).collect();
        assert_eq!(found, [(1, "One sentence."), (2, "When two.")]);
    }

    #[test]
    fn cells_of_a_table_are_sentences() {
        let mut corpus = Corpus::default();
        add_page("a.md", "| Why it is | said |\n", &mut corpus);
        let found: Vec<usize> = counts(&corpus).into_iter().map(|(_, count)| count).collect();
        assert_eq!(found, [1, 0, 1, 0, 0, 0]);
    }
}
