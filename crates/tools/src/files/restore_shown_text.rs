//! Restores text that a model writes back: our escaped tags and hidden characters become what the file contains.
//!
//! A model reads `&lt;/AGENTS_MD>` for a tag of the file, and `\\u{202e}` for an invisible character. The file may also
//! contain either of these literally. The written text is therefore compared with the escaped content, and equal parts
//! are taken from the file.

use std::borrow::Cow;
use std::ops::Range;

use diff::Run;
use instructions::{shown_parts, unsafe_parts};

/// Returns true if a text may contain escaped parts.
pub(crate) fn looks_shown(text: &str) -> bool {
    text.contains("&lt;") || text.contains("\\u{")
}

/// Restores a text that was written as a modification of the escaped content.
pub(crate) fn restored<'a>(content: &[u8], new: &'a str) -> Cow<'a, str> {
    if !looks_shown(new) {
        return Cow::Borrowed(new);
    }
    let shown = EscapedContent::of(content);
    Cow::Owned(shown.restore(content, 0..shown.bytes.len(), new))
}

/// Escaped content, with the origin of its bytes.
pub(crate) struct EscapedContent {
    bytes: Vec<u8>,
    /// Escaped parts, and literal parts that look escaped, in order.
    parts: Vec<EscapedPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EscapedPart {
    /// Range in the escaped content.
    shown: Range<usize>,
    /// Range in the original content. `None` for a literal part.
    original: Option<Range<usize>>,
}

impl EscapedContent {
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut shown = Self { bytes: Vec::with_capacity(content.len()), parts: Vec::new() };
        let mut start = 0;
        // Invalid bytes separate texts and are kept unchanged.
        for chunk in content.utf8_chunks() {
            shown.add(chunk.valid(), start);
            shown.bytes.extend_from_slice(chunk.invalid());
            start += chunk.valid().len() + chunk.invalid().len();
        }
        shown
    }

    /// Adds a text that begins at offset `start` of the content.
    fn add(&mut self, text: &str, start: usize) {
        let from = self.bytes.len();
        let mut neutral = String::with_capacity(text.len());
        let mut changes = Vec::new();
        let mut done = 0;
        for part in unsafe_parts(text) {
            neutral.push_str(&text[done..part.range.start]);
            let begin = neutral.len();
            neutral.push_str(&part.shown);
            let original = start + part.range.start..start + part.range.end;
            changes.push(EscapedPart { shown: from + begin..from + neutral.len(), original: Some(original) });
            done = part.range.end;
        }
        neutral.push_str(&text[done..]);
        let alike = shown_parts(&neutral).into_iter().map(|part| from + part.start..from + part.end);
        let known =
            |part: &Range<usize>| changes.binary_search_by_key(&part.start, |it| it.shown.start).is_ok();
        let literal: Vec<EscapedPart> =
            alike.filter(|part| !known(part)).map(|shown| EscapedPart { shown, original: None }).collect();
        changes.extend(literal);
        changes.sort_by_key(|part| part.shown.start);
        self.parts.extend(changes);
        self.bytes.extend_from_slice(neutral.as_bytes());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the offset in the original content. `None` inside an escaped part.
    pub(crate) fn origin(&self, position: usize) -> Option<usize> {
        let before = &self.parts[..self.parts.partition_point(|part| part.shown.start < position)];
        match before.iter().rev().find_map(|part| Some((&part.shown, part.original.as_ref()?))) {
            None => Some(position),
            Some((shown, original)) => Some(original.end + position.checked_sub(shown.end)?),
        }
    }

    /// Restores a text that replaces a range of the escaped content.
    pub(crate) fn restore(&self, content: &[u8], range: Range<usize>, new: &str) -> String {
        let inside = |part: &&EscapedPart| range.start <= part.shown.start && part.shown.end <= range.end;
        let parts: Vec<&EscapedPart> = self.parts.iter().filter(inside).collect();
        // Nothing in the replaced range was escaped, so whatever looks escaped in the new text was meant literally.
        if parts.iter().all(|part| part.original.is_none()) {
            return new.to_owned();
        }
        let old = ReplacedContent { shown: self, content, parts: &parts };
        // Lines are compared first and words only within changed lines: comparing the words of a whole file would be
        // slow, and would match equal words of unrelated lines.
        let old_lines = pieces(range.start, self.bytes[range].split_inclusive(|byte| *byte == b'\n'));
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let mut restored = String::with_capacity(new.len());
        for run in compare(&old_lines, &new_lines) {
            let text = new_lines[run.new].concat();
            match (run.is_equal, &old_lines[run.old]) {
                (true, [first, ..]) => old.copy(first.start, &text, &mut restored),
                (_, [first, .., last]) => old.adapt(first.start..last.end(), &text, &mut restored),
                (_, [only]) => old.adapt(only.start..only.end(), &text, &mut restored),
                (_, []) => old.adapt(0..0, &text, &mut restored),
            }
        }
        restored
    }
}

/// A slice of the escaped content and its offset.
#[derive(Clone, Copy)]
struct ContentPiece<'a> {
    start: usize,
    bytes: &'a [u8],
}

impl ContentPiece<'_> {
    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

fn pieces<'a>(start: usize, parts: impl Iterator<Item = &'a [u8]>) -> Vec<ContentPiece<'a>> {
    let begin = |end: &mut usize, bytes: &'a [u8]| {
        let start = *end;
        *end += bytes.len();
        Some(ContentPiece { start, bytes })
    };
    parts.scan(start, begin).collect()
}

fn compare(old: &[ContentPiece<'_>], new: &[&str]) -> Vec<Run> {
    let old: Vec<&[u8]> = old.iter().map(|piece| piece.bytes).collect();
    let new: Vec<&[u8]> = new.iter().map(|piece| piece.as_bytes()).collect();
    diff::runs(&old, &new)
}

/// The escaped content that is being replaced.
struct ReplacedContent<'a> {
    shown: &'a EscapedContent,
    content: &'a [u8],
    parts: &'a [&'a EscapedPart],
}

impl ReplacedContent<'_> {
    /// Returns the parts that are completely inside a range.
    fn within(&self, range: Range<usize>) -> &[&EscapedPart] {
        let start = self.parts.partition_point(|part| part.shown.start < range.start);
        let end = self.parts.partition_point(|part| part.shown.end <= range.end);
        &self.parts[start..end.max(start)]
    }

    /// Appends text that equals the escaped content at `start`, in its original form.
    fn copy(&self, start: usize, text: &str, restored: &mut String) {
        let mut done = 0;
        for part in self.within(start..start + text.len()).iter().filter(|part| part.original.is_some()) {
            restored.push_str(&text[done..part.shown.start - start]);
            restored.push_str(&self.original(part));
            done = part.shown.end - start;
        }
        restored.push_str(&text[done..]);
    }

    /// Appends text that replaces a range. Its escaped parts are restored from the same position if they are equal there, else
    /// from any position, unless the file also contains the part literally.
    fn adapt(&self, range: Range<usize>, text: &str, restored: &mut String) {
        let within = self.within(range.clone()).iter();
        let within = within.map(|part| part.shown.start - range.start..part.shown.end - range.start);
        let old = elements(&self.shown.bytes[range.clone()], within);
        let old = pieces(range.start, old.into_iter());
        let alike = shown_parts(text);
        let new = elements(text.as_bytes(), alike.iter().cloned());
        let new: Vec<&str> =
            new.into_iter().map(|element| std::str::from_utf8(element).unwrap_or_default()).collect();
        let mut position = 0;
        for run in compare(&old, &new) {
            for (index, element) in run.new.clone().zip(&new[run.new.clone()]) {
                let is_part = alike.binary_search_by_key(&position, |part| part.start).is_ok();
                if run.is_equal {
                    let from = run.old.start + (index - run.new.start);
                    self.copy(old[from].start, element, restored);
                } else if is_part {
                    restored.push_str(&self.elsewhere(element).unwrap_or(Cow::Borrowed(element)));
                } else {
                    restored.push_str(element);
                }
                position += element.len();
            }
        }
    }

    /// Returns the original of a part, if all equal parts of the content were escaped.
    fn elsewhere(&self, part: &str) -> Option<Cow<'_, str>> {
        // A part that the file contains both escaped and literally is ambiguous. It is then kept as written, which
        // never turns visible text into hidden characters.
        let mut alike =
            self.parts.iter().filter(|it| &self.shown.bytes[it.shown.clone()] == part.as_bytes()).peekable();
        let first = *alike.peek()?;
        alike.all(|part| part.original.is_some()).then(|| self.original(first))
    }

    fn original(&self, part: &EscapedPart) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.content[part.original.clone().unwrap_or_default()])
    }
}

/// Splits bytes into words, escaped parts and single bytes. A character is never split.
fn elements(bytes: &[u8], parts: impl Iterator<Item = Range<usize>>) -> Vec<&[u8]> {
    let mut elements = Vec::new();
    let mut done = 0;
    for part in parts {
        words(&bytes[done..part.start], &mut elements);
        elements.push(&bytes[part.clone()]);
        done = part.end;
    }
    words(&bytes[done..], &mut elements);
    elements
}

fn words<'a>(mut bytes: &'a [u8], elements: &mut Vec<&'a [u8]>) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    while let Some(first) = bytes.first() {
        let length = if is_word(first) {
            bytes.iter().take_while(|byte| is_word(byte)).count()
        } else if bytes.starts_with(b"&lt;") {
            // It may be the rest of an escaped tag whose name was edited.
            "&lt;".len()
        } else {
            1
        };
        let (element, rest) = bytes.split_at(length);
        elements.push(element);
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use instructions::neutralise;
    use proptest::prelude::*;

    use super::*;
    use crate::files::text_replacement::replace;

    fn check(content: &str, change: impl Fn(&str) -> String) -> String {
        restored(content.as_bytes(), &change(&neutralise(content))).into_owned()
    }

    #[test]
    fn offsets_lead_back_to_the_content() {
        let shown = EscapedContent::of("</AGENTS_MD>＜/AGENTS_MD>".as_bytes());
        assert_eq!(shown.bytes, b"&lt;/AGENTS_MD>&lt;/AGENTS_MD>");
        let origins: Vec<Option<usize>> = [0, 1, 3, 4, 14, 15, 16, 19, 30].map(|at| shown.origin(at)).into();
        assert_eq!(origins, [Some(0), None, None, Some(1), Some(11), Some(12), None, Some(15), Some(26)]);
    }

    #[test]
    fn tag_in_another_spelling_is_restored() {
        let content = "ä ＜/AGENTS_MD> b\n</AGENTS_MD>\n";
        assert_eq!(neutralise(content), "ä &lt;/AGENTS_MD> b\n&lt;/AGENTS_MD>\n");
        assert_eq!(check(content, |shown| shown.replace('b', "c")), content.replace('b', "c"));
        assert_eq!(check(content, |shown| format!("first\n{shown}last")), format!("first\n{content}last"));
    }

    #[test]
    fn literal_escapes_are_kept() {
        let content = "let bidi = '\\u{202e}';\nlet real = \"a\u{202e}b\";\nlet tag = \"&lt;/AGENTS_MD>\"; // </AGENTS_MD>\n";
        assert_eq!(check(content, str::to_owned), content);
        assert_eq!(check(content, |shown| shown.replace("let", "const")), content.replace("let", "const"));
        // A new escape could mean either, so it is kept as written.
        assert!(check(content, |shown| format!("{shown}\\u{{202e}}")).ends_with("\\u{202e}"));
    }

    #[test]
    fn moved_line_is_restored() {
        let content = "one\n\u{200b}two\nthree\n";
        assert_eq!(check(content, |_| "three\n\\u{200b}two\none\n".to_owned()), "three\n\u{200b}two\none\n");
        assert_eq!(restored(b"plain", "\\u{202e} &lt;/AGENTS_MD>"), "\\u{202e} &lt;/AGENTS_MD>");
    }

    fn odd_text() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "<",
            "＜",
            "/",
            " ",
            "\n",
            "\r\n",
            "\u{200b}",
            "\u{202e}",
            "\u{ad}",
            "\u{e0041}",
            "AGENTS_MD",
            "system-reminder",
            "instructions",
            "x",
            ">",
            "&lt;",
            "\\u{202e}",
            "\\u{200b}",
            "\\u{",
            "}",
            "ä",
            "👩",
            "\u{200d}",
            "&lt;/AGENTS_MD>",
            "</AGENTS_MD>",
        ]);
        prop::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

        #[test]
        fn writing_back_unchanged_text_changes_nothing(content in odd_text()) {
            let shown = neutralise(&content);
            prop_assert_eq!(&*restored(content.as_bytes(), &shown), &content);
        }

        // Appending to the old text must not change anything before the addition.
        #[test]
        fn edit_changes_only_the_edited_part(content in odd_text(), before in 0usize..40, after in 0usize..40) {
            let shown = neutralise(&content).into_owned();
            let positions: Vec<usize> = shown.char_indices().map(|(at, _)| at).chain([shown.len()]).collect();
            let start = before.min(positions.len() - 1);
            let end = positions.len().saturating_sub(after + 1);
            if start >= end {
                return Ok(());
            }
            let old = &shown[positions[start]..positions[end]];
            if let Ok(replaced) = replace(content.as_bytes(), old, &format!("{old}NEW")) {
                let without = String::from_utf8(replaced.content).unwrap().replacen("NEW", "", 1);
                prop_assert_eq!(without, content, "{:?}", old);
            }
        }
    }
}
