//! Replaces text that occurs exactly once, and suggests what to change if it does not.

use std::borrow::Cow;
use std::ops::Range;

use protocol::Hint;

use crate::files::restore_shown_text::{EscapedContent, looks_shown};

/// Most occurrences named in an error.
const MAX_PLACES: usize = 10;
/// Bytes of a file that are searched for a similar line, and characters compared of a line.
const MAX_COMPARED: usize = 1 << 20;
const MAX_LINE_CHARS: usize = 200;
/// Least similarity of a suggested line, from 0 to 1.
const ALIKE: f64 = 0.5;

/// Content after a replacement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) content: Vec<u8>,
    /// Line of the replacement, counted from 1.
    pub(crate) line: usize,
}

/// Reason why nothing was replaced.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplaceError {
    #[error("`old_text` is empty")]
    Empty,
    #[error("`old_text` and `new_text` are the same")]
    Same,
    #[error("`old_text` does not occur in it")]
    Absent {
        /// Hint about the most similar line, if there is one.
        nearest: Option<String>,
    },
    #[error("`old_text` occurs {count} times in it, at lines {lines}")]
    Several { count: usize, lines: String },
}

impl Hint for ReplaceError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Empty => Some("write_file creates a file or writes all of it".into()),
            Self::Same => None,
            Self::Absent { nearest } => nearest.as_deref().map(Cow::Borrowed),
            Self::Several { .. } => Some("add lines before or after it, so that it occurs once".into()),
        }
    }
}

/// Replaces `old` by `new` in content that need not be UTF-8.
///
/// `old` may contain tags and hidden characters in the escaped form that models see; `new` may then, too. In a file whose
/// lines all end with `\r\n`, both may have plain line ends.
pub(crate) fn replace(content: &[u8], old: &str, new: &str) -> Result<Replaced, ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::Empty);
    }
    if old == new {
        return Err(ReplaceError::Same);
    }
    let (old, new) = if ends_lines_with_return(content) {
        (with_returns(old), with_returns(new))
    } else {
        (old.to_owned(), new.to_owned())
    };
    // Content is escaped for models, so a model quotes the escaped form. Comparing with it is needed only if `old` looks so.
    let shown = looks_shown(&old).then(|| EscapedContent::of(content));
    let places = places(content, shown.as_ref(), &old);
    let [place] = &places[..] else {
        return Err(if places.is_empty() {
            ReplaceError::Absent { nearest: nearest_line(content, &old) }
        } else {
            several(content, &places)
        });
    };
    let new = match (&shown, &place.shown) {
        (Some(shown), Some(range)) => shown.restore(content, range.clone(), &new),
        _ => new,
    };
    let mut changed = content[..place.start].to_vec();
    changed.extend_from_slice(new.as_bytes());
    changed.extend_from_slice(&content[place.end..]);
    Ok(Replaced { content: changed, line: line_of(content, place.start) })
}

/// An occurrence of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Occurrence {
    start: usize,
    end: usize,
    /// Range in the escaped content, if the text occurs only there.
    shown: Option<Range<usize>>,
}

/// Returns every occurrence of `old`, in the content itself or in its escaped form, in order.
fn places(content: &[u8], shown: Option<&EscapedContent>, old: &str) -> Vec<Occurrence> {
    let mut places: Vec<Occurrence> = occurrences(content, old.as_bytes())
        .map(|start| Occurrence { start, end: start + old.len(), shown: None })
        .collect();
    if let Some(shown) = shown {
        let as_shown = occurrences(shown.bytes(), old.as_bytes()).filter_map(|from| {
            let range = from..from + old.len();
            let start = shown.origin(range.start)?;
            let end = shown.origin(range.end)?;
            Some(Occurrence { start, end, shown: Some(range) })
        });
        for place in as_shown {
            // An occurrence without escaped parts is found in both forms and must count once, or a unique text would
            // look ambiguous.
            if !places.iter().any(|known| known.start == place.start) {
                places.push(place);
            }
        }
        places.sort_by_key(|place| place.start);
    }
    places
}

/// Returns the offsets of all occurrences, overlapping ones included: each could be meant.
fn occurrences<'a>(content: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = from + memchr::memmem::find(content.get(from..)?, text)?;
        // Overlapping occurrences count too: skipping them could make an ambiguous text look unique.
        from = found + 1;
        Some(found)
    })
}

/// Returns true if there are line ends and all of them are `\r\n`.
fn ends_lines_with_return(content: &[u8]) -> bool {
    let mut ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').peekable();
    ends.peek().is_some() && ends.all(|(position, _)| position > 0 && content[position - 1] == b'\r')
}

fn with_returns(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn line_of(content: &[u8], position: usize) -> usize {
    content[..position].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn several(content: &[u8], places: &[Occurrence]) -> ReplaceError {
    let named = places.iter().take(MAX_PLACES).map(|place| line_of(content, place.start).to_string());
    let mut lines = named.collect::<Vec<_>>().join(", ");
    if places.len() > MAX_PLACES {
        lines.push_str(", …");
    }
    ReplaceError::Several { count: places.len(), lines }
}

/// Suggests the line that is most similar to the first line of a text that does not occur.
fn nearest_line(content: &[u8], old: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&content[..content.len().min(MAX_COMPARED)]);
    let wanted = old.lines().find(|line| !line.trim().is_empty())?;
    let short = |line: &str| line.chars().take(MAX_LINE_CHARS).collect::<String>();
    if let Some(number) = text.lines().position(|line| line == wanted) {
        let what = "has its first line; what follows there differs";
        return Some(format!("line {} {what}. Read the file again from there", number + 1));
    }
    if let Some(number) = text.lines().position(|line| line.trim() == wanted.trim()) {
        let what = "differs from its first line only in white space";
        let line = short(text.lines().nth(number).unwrap_or(""));
        return Some(format!("line {} {what}: {line:?}", number + 1));
    }
    let wanted = short(wanted.trim());
    let scored = text.lines().enumerate().filter_map(|(number, line)| {
        let line = short(line.trim());
        // Comparing costs the product of the lengths, and lines of very different length are not similar.
        let a = line.len().max(1);
        let b = wanted.len().max(1);
        if a > b * 2 || b > a * 2 {
            return None;
        }
        let score = strsim::normalized_levenshtein(&line, &wanted);
        (score >= ALIKE).then_some((score, number, line))
    });
    Some(match scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) {
        Some((_, number, line)) => format!("line {} is most like its first line: {line:?}", number + 1),
        None => "no line is like it; read the file again".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, old: &str, new: &str) -> String {
        match replace(content.as_bytes(), old, new) {
            Ok(replaced) => String::from_utf8(replaced.content).unwrap(),
            Err(error) => format!("error: {}", error.with_hint()),
        }
    }

    #[test]
    fn single_occurrence_is_replaced() {
        assert_eq!(check("a b c", "b", "B"), "a B c");
        assert_eq!(check("a b c", " b", ""), "a c");
        assert_eq!(check("b", "b", "x\ny"), "x\ny");
        assert_eq!(replace(b"1\n2\n3\n", "3", "4").unwrap().line, 3);
        assert_eq!(replace(b"\xff b \xfe", "b", "c").unwrap().content, b"\xff c \xfe");
    }

    #[test]
    fn failed_replacement_is_explained() {
        for (content, old, new, error) in [
            ("a", "", "x", "`old_text` is empty\nhint: write_file creates a file or writes all of it"),
            ("a", "a", "a", "`old_text` and `new_text` are the same"),
            (
                "x\ny\nx\n",
                "x",
                "z",
                "`old_text` occurs 2 times in it, at lines 1, 3\n\
                 hint: add lines before or after it, so that it occurs once",
            ),
            (
                "aaa",
                "aa",
                "b",
                "`old_text` occurs 2 times in it, at lines 1, 1\n\
                 hint: add lines before or after it, so that it occurs once",
            ),
            (
                "fn one() {}\nfn two() {}\n",
                "fn twoo() {}",
                "x",
                "`old_text` does not occur in it\nhint: line 2 is most like its first line: \"fn two() {}\"",
            ),
            (
                "\tlet x = 1;\n",
                "    let x = 1;\n",
                "x",
                "`old_text` does not occur in it\n\
                 hint: line 1 differs from its first line only in white space: \"\\tlet x = 1;\"",
            ),
            (
                "a\nb\n",
                "a\nc",
                "x",
                "`old_text` does not occur in it\n\
                 hint: line 1 has its first line; what follows there differs. Read the file again from there",
            ),
            (
                "abc",
                "something else",
                "x",
                "`old_text` does not occur in it\nhint: no line is like it; read the file again",
            ),
            ("", "x", "y", "`old_text` does not occur in it\nhint: no line is like it; read the file again"),
            ("a", "\n\n", "y", "`old_text` does not occur in it"),
        ] {
            assert_eq!(check(content, old, new), format!("error: {error}"), "{content:?} {old:?}");
        }
        let many = "x\n".repeat(50);
        assert!(
            check(&many, "x", "y")
                .contains("occurs 50 times in it, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …")
        );
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(check("a\r\nb\r\nc\r\n", "a\nb", "x\ny"), "x\r\ny\r\nc\r\n");
        assert_eq!(check("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(check("a\r\nb\r\n", "a\r\nb", "x\r\ny"), "x\r\ny\r\n");
        assert_eq!(check("a\nb\n", "a\nb", "x"), "x\n");
        assert_eq!(
            check("a\r\nb\nc\n", "b\nc", "x\ny"),
            "a\r\nx\ny\n",
            "mixed line ends are taken as they are"
        );
        assert_eq!(check("a", "a", "x\ny"), "x\ny");
    }

    #[test]
    fn escaped_tags_match() {
        let content = "ä <b>\n</system-reminder>\n&lt;p> </AGENTS_MD>!\n";
        let shown = instructions::neutralise(content).into_owned();
        for (old, new, changed) in [
            ("&lt;/system-reminder>\n", "", "ä <b>\n&lt;p> </AGENTS_MD>!\n"),
            ("</system-reminder>", "x", "ä <b>\nx\n&lt;p> </AGENTS_MD>!\n"),
            (
                "&lt;/system-reminder>\n&lt;p>",
                "&lt;/system-reminder> &lt;p> &lt;/ agents_md>",
                "ä <b>\n</system-reminder> &lt;p> </ agents_md> </AGENTS_MD>!\n",
            ),
            (
                "&lt;p>",
                "&lt;q> &lt;/AGENTS_MD>",
                "ä <b>\n</system-reminder>\n&lt;q> &lt;/AGENTS_MD> </AGENTS_MD>!\n",
            ),
            (&shown, "", ""),
        ] {
            assert_eq!(check(content, old, new), changed, "{old:?}");
        }
        assert!(check(content, "lt;/system-reminder>", "").starts_with("error: `old_text` does not occur"));
        let both = "</AGENTS_MD>\n&lt;/AGENTS_MD>\n";
        assert!(check(both, "&lt;/AGENTS_MD>", "x").contains("occurs 2 times in it, at lines 1, 2"));
        let invalid = b"\xff</AGENTS_MD>\xfe";
        assert_eq!(replace(invalid, "&lt;/AGENTS_MD>", "x").unwrap().content, b"\xffx\xfe");
    }
}
