//! Foreword's own import syntax: `@` at the start of a word, outside code and HTML comments.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Maximum length of a path, and of a name in it, on Linux and macOS.
const MAX_PATH_BYTES: usize = 4_095;
const MAX_NAME_BYTES: usize = 255;

/// Characters that usually end a sentence or close a bracket, and rarely a file's name.
const CLOSING: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '*'];
/// Characters that may precede a word, apart from white space.
const OPENING: &[char] = &['(', '[', '{', '<', '"', '\'', '*'];

/// A word in a text that may name a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Text after the `@`, up to white space or code.
    word: String,
    /// Line in the text, from 1.
    pub(crate) line: usize,
    /// The word is the exact path, including punctuation at its end.
    is_exact: bool,
}

impl Reference {
    /// Returns the paths that it may mean: the whole word, then the word without punctuation at its end.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &str> {
        let word = self.word.as_str();
        let bare = word.trim_end_matches(CLOSING);
        let bare = (!self.is_exact && bare.len() < word.len() && is_path(bare)).then_some(bare);
        (self.is_exact || is_path(word)).then_some(word).into_iter().chain(bare)
    }

    /// Creates a reference found by the syntax of another agent.
    pub(crate) fn exact(path: String, line: usize) -> Self {
        Self { word: path, line, is_exact: true }
    }
}

/// References in a text.
#[derive(Debug)]
pub(crate) struct References {
    /// In order, each word once.
    pub(crate) found: Vec<Reference>,
    /// The text contains nothing else.
    pub(crate) are_all: bool,
}

impl References {
    pub(crate) const NONE: Self = Self { found: Vec::new(), are_all: false };
}

/// Finds the references in a text, in linear time.
pub(crate) fn find(text: &str) -> References {
    if !text.contains('@') {
        return References::NONE;
    }
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut are_all = true;
    let mut at = 0;
    let mut line = 1;
    // The last piece extends from the last hidden range to the end of the text.
    let hidden = hidden(text);
    let ends = hidden.iter().map(|hidden| (hidden.range.start, Some(hidden))).chain([(text.len(), None)]);
    for (end, hidden) in ends {
        let piece_start = at;
        let end = end.max(at);
        for word in words(&text[at..end]) {
            let range = piece_start + word.start..piece_start + word.end;
            line += newlines(&text[at..range.start]);
            at = range.start;
            match reference(text, range) {
                Some(name) if is_named(name) => {
                    if known.insert(name) {
                        found.push(Reference { word: name.to_owned(), line, is_exact: false });
                    }
                }
                _ => are_all = false,
            }
        }
        let next = hidden.map_or(end, |hidden| hidden.range.end).max(at);
        are_all &= hidden.is_none_or(|hidden| hidden.kind == Kind::Comment);
        line += newlines(&text[at..next]);
        at = next;
    }
    References { are_all: are_all && !found.is_empty(), found }
}

/// Returns the text after the `@` of a word, which brackets and quotes may precede.
fn reference(text: &str, word: Range<usize>) -> Option<&str> {
    let name = text[word.clone()].trim_start_matches(OPENING).strip_prefix('@')?;
    // A piece may begin in the middle of a word, after inline code.
    let before = text[..word.start].chars().next_back();
    before.is_none_or(|before| before.is_whitespace() || OPENING.contains(&before)).then_some(name)
}

fn words(piece: &str) -> impl Iterator<Item = Range<usize>> {
    let start = piece.as_ptr() as usize;
    piece.split_whitespace().map(move |word| {
        let at = word.as_ptr() as usize - start;
        at..at + word.len()
    })
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns true if a word could name a file, with or without punctuation at its end.
fn is_named(word: &str) -> bool {
    is_path(word) || is_path(word.trim_end_matches(CLOSING))
}

/// Returns true if the word is a possible relative path.
fn is_path(word: &str) -> bool {
    word.len() <= MAX_PATH_BYTES
        && !word.starts_with(['/', '@'])
        && word.contains(|character| !matches!(character, '.' | '/'))
        && !word.contains(char::is_control)
        && word.split('/').all(|name| name.len() <= MAX_NAME_BYTES)
}

/// A range of a text without references.
struct Hidden {
    range: Range<usize>,
    kind: Kind,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
}

/// Returns code and HTML comments in order.
fn hidden(text: &str) -> Vec<Hidden> {
    let mut hidden = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => {
                hidden.push(Hidden { range, kind: Kind::Code });
            }
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => comments(text, range, &mut hidden),
            _ => {}
        }
    }
    hidden
}

/// Adds the comments in a piece of HTML. An unclosed one extends to its end.
fn comments(text: &str, html: Range<usize>, hidden: &mut Vec<Hidden>) {
    let mut at = html.start;
    while let Some(start) = text[at..html.end].find("<!--").map(|start| at + start) {
        let end = text[start + 2..html.end].find("-->").map_or(html.end, |end| start + 2 + end + 3);
        hidden.push(Hidden { range: start..end, kind: Kind::Comment });
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, usize)]) {
        let found = find(text).found;
        let found: Vec<(&str, usize)> = found.iter().map(|found| (found.word.as_str(), found.line)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_reference_begins_a_word() {
        check("@a.md", &[("a.md", 1)]);
        check("See @docs/a.md and\r\n- @b.md, @c\n", &[("docs/a.md", 1), ("b.md,", 2), ("c", 2)]);
        check("(@a.md) \"@b.md\" **@c.md**", &[("a.md)", 1), ("b.md\"", 1), ("c.md**", 1)]);
        check("me@example.com x/@y \\@z @@w @ @. @../.. @/etc/passwd", &[]);
        check("@a_b_c.md @d*e*.md", &[("a_b_c.md", 1), ("d*e*.md", 1)]);
        check("> quoted @a.md\n\n* listed\n  @b.md", &[("a.md", 1), ("b.md", 4)]);
        check("@a.md again @a.md", &[("a.md", 1)]);
    }

    #[test]
    fn code_is_not_text() {
        check("`@a.md` ``@b ` @c`` @d.md`x`", &[("d.md", 1)]);
        check("```\n@a.md\n```\n@b.md\n~~~sh\n@c.md\n~~~", &[("b.md", 4)]);
        check("text\n\n    @a.md\n\n@b.md", &[("b.md", 5)]);
        check("text\n    @a.md", &[("a.md", 2)]);
        check("- item\n\n      @code.md\n\n  @text.md", &[("text.md", 5)]);
        check("> ```\n> @a.md\n> ```\n\n@b.md", &[("b.md", 5)]);
        check("```\n@never closed", &[]);
        check("`not closed @a.md", &[("a.md", 1)]);
    }

    #[test]
    fn comments_are_not_text() {
        check("<!-- @a.md -->\n@b.md <!-- @c.md --> @d.md", &[("b.md", 2), ("d.md", 2)]);
        check("<!--\n\n@a.md\n\n-->\n\n@b.md", &[("b.md", 7)]);
        check("<details>\n@a.md <!-- @b.md -->\n</details>", &[("a.md", 2)]);
        check("<!-- open\n\n@a.md", &[]);
        check("<!--> @a.md", &[("a.md", 1)]);
    }

    #[test]
    fn punctuation_may_belong_to_a_name() {
        let found = find("@a.md). @b @c...").found;
        let candidates: Vec<Vec<&str>> = found.iter().map(|found| found.candidates().collect()).collect();
        assert_eq!(candidates, [vec!["a.md).", "a.md"], vec!["b"], vec!["c...", "c"]]);
    }

    #[test]
    fn a_text_of_references_alone() {
        for (text, are_all) in [
            ("@a.md\n", true),
            ("<!-- why -->\n@a.md\n@b.md\n", true),
            ("See @a.md", false),
            ("@a.md `code`", false),
            ("# Title\n\n@a.md", false),
            ("plain", false),
            ("", false),
        ] {
            assert_eq!(find(text).are_all, are_all, "{text}");
        }
    }

    #[test]
    fn names_that_no_system_has() {
        check(&format!("@{} @{}", "a".repeat(300), "b/".repeat(3_000)), &[]);
        check("@a\0b @c\u{1b}d", &[]);
    }

    /// Each of these texts is quadratic in some Markdown parser.
    #[test]
    fn hostile_texts_take_no_time() {
        let half = |one: &str| one.repeat(100_000 / one.len());
        for text in [
            half("@"),
            half("(@"),
            half("@a "),
            half("[@a]("),
            half("<!-- @a "),
            half("<!--@a-->"),
            half("`@a ``"),
            half("*@a _"),
            half("> @a\n"),
            half("<@a"),
            half("@a\n---\n"),
            format!("{}@a", half("[")),
            format!("{}@a", half("> ")),
            format!("{}@a", half("- ")),
        ] {
            find(&text);
        }
    }
}
