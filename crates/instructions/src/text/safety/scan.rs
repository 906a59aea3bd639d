//! Single pass over a text that finds parts to replace.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::hidden::{FIRST_BYTES, Hidden, hidden, is_ignorable, is_in_flag, joins_pictures};

/// Names of the wrapper tags.
pub(super) const TAGS: [&str; 4] = ["AGENTS_MD", "agents_context", "system-reminder", "INSTRUCTIONS"];

/// `<`, characters that NFKC normalization turns into it, and similar brackets.
pub(super) const OPENING: [char; 11] = ['<', '＜', '﹤', '‹', '⟨', '〈', '\u{2329}', '❮', '❬', '❰', '˂'];

/// Letters of other alphabets that look like one of the names' letters, by that letter. Combining marks are removed before
/// the comparison, so accented letters need no row.
const LOOKALIKES: &[(char, &str)] = &[
    ('a', "аαᴀꓮᎪɑ"),
    ('g', "ԍɢᏀꓖɡց"),
    ('e', "еεᴇꓰᎬєҽ℮"),
    ('n', "νɴꓠпηոռ"),
    ('t', "тτᴛꓔᎢ"),
    ('s', "ѕꜱꓢᏚʂս"),
    ('_', "-"),
    ('m', "мμᴍꓟᎷϻ"),
    ('d', "ԁᴅꓓᎠɗ"),
    ('c', "сϲᴄꓚᏟↄ"),
    ('o', "оοᴏꓳօσ"),
    ('x', "хχꓫ"),
    ('y', "уγʏꓬυү"),
    ('r', "гʀꓣᎡᏒ"),
    ('i', "іιıɪꓲᏆӏı"),
    ('u', "υᴜꓴսц"),
];

/// Replacement for the `<` of a tag.
pub(super) const NEUTRAL: &str = "&lt;";

/// Bytes examined together. Most blocks contain nothing relevant, and the compiler vectorizes the comparison.
const BLOCK: usize = 64;

/// A finding in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) range: Range<usize>,
    pub(super) kind: FindingKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingKind {
    /// The `<` of a wrapper tag.
    Tag,
    Hidden(char, Hidden),
}

impl Finding {
    pub(super) fn tag(range: Range<usize>) -> Self {
        Self { range, kind: FindingKind::Tag }
    }

    /// Returns the replacement, or `None` if the part stays.
    pub(super) fn shown(&self) -> Option<Cow<'static, str>> {
        match self.kind {
            FindingKind::Tag => Some(Cow::Borrowed(NEUTRAL)),
            FindingKind::Hidden(_, Hidden::Honest(_)) => None,
            FindingKind::Hidden(character, _) => Some(Cow::Owned(visible(character))),
        }
    }
}

/// Returns the visible form of a character.
pub(super) fn visible(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

/// Returns all findings, in order.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut start = 0;
    for block in text.as_bytes().chunks(BLOCK) {
        if block.iter().fold(false, |any, byte| any | (*byte == b'<') | (*byte >= 0x80)) {
            let suspects = block.iter().enumerate().filter(|(_, byte)| FIRST_BYTES[usize::from(**byte)]);
            findings.extend(suspects.filter_map(|(offset, _)| inspect(text, start + offset)));
        }
        start += block.len();
    }
    findings
}

fn inspect(text: &str, position: usize) -> Option<Finding> {
    let mut rest = text[position..].chars();
    let character = rest.next()?;
    let range = position..position + character.len_utf8();
    if OPENING.contains(&character) {
        return begins_with_name(rest).then(|| Finding::tag(range));
    }
    if !is_ignorable(character) {
        return None;
    }
    // Joiners and flags need more context than the two neighbours, so they are tested before the table.
    let before = &text[..position];
    let after = rest.next();
    let is_tag = matches!(character, '\u{e0020}'..='\u{e007f}');
    if character == '\u{200d}' && joins_pictures(before, after) || is_tag && is_in_flag(text, position) {
        return None;
    }
    let found = hidden(before.chars().next_back(), character, after)?;
    Some(Finding { range, kind: FindingKind::Hidden(character, found) })
}

/// Returns true if a reader would take the text after a `<` for the name of a wrapper tag: in any letter
/// case, after a slash, with white space, in full-width or stylized letters, or with invisible characters in
/// between.
pub(super) fn begins_with_name(text: impl Iterator<Item = char>) -> bool {
    // Invisible characters and combining marks are skipped but remembered, because both end a name: the first once they
    // are made visible, the second as any foreign character does.
    let mut is_parted = false;
    let seen = text.filter_map(|character| {
        let is_seen = !is_ignorable(character) && !is_combining_mark(character);
        let before = std::mem::replace(&mut is_parted, !is_seen);
        is_seen.then_some((character, before))
    });
    let fold = |character| {
        // A letter with an accent is read as the letter itself, but ends a name as any foreign character does.
        let is_foreign = !std::iter::once(character).nfkc().all(|it| plain_dash(it).is_ascii());
        let parts = std::iter::once(character).nfkd().filter(|part| !is_combining_mark(*part));
        parts.map(plain_dash).flat_map(char::to_lowercase).map(move |it| (it, is_foreign))
    };
    let folded = seen.flat_map(|(character, is_parted)| {
        fold(character).map(move |(it, is_foreign)| (it, is_parted || is_foreign))
    });
    let mut folded = folded.skip_while(|(character, _)| character.is_whitespace()).peekable();
    // Any number of slashes: a model reads `<//` as it reads `</`.
    while folded.next_if(|(character, _)| is_slash(*character) || character.is_whitespace()).is_some() {}
    // All names are compared at once, character by character, because the folded text is an iterator and may be
    // consumed only once.
    let mut possible = [true; TAGS.len()];
    for index in 0.. {
        let next = folded.next();
        for (tag, possible) in TAGS.iter().zip(&mut possible).filter(|(_, possible)| **possible) {
            match tag.as_bytes().get(index) {
                Some(expected) => {
                    let expected = char::from(expected.to_ascii_lowercase());
                    *possible = next.is_some_and(|(next, _)| looks_like(next, expected));
                }
                None if next.is_none_or(|(next, is_parted)| is_parted || !continues_name(next)) => {
                    return true;
                }
                None => *possible = false,
            }
        }
        if next.is_none() || !possible.contains(&true) {
            break;
        }
    }
    false
}

/// Returns true if a reader takes a folded character for this letter of a name.
fn looks_like(character: char, expected: char) -> bool {
    // Names are written with a hyphen or an underscore, and readers hardly tell them apart.
    let expected = if expected == '-' { '_' } else { expected };
    character == expected
        || LOOKALIKES.iter().any(|(letter, similar)| *letter == expected && similar.contains(character))
}

fn is_slash(character: char) -> bool {
    matches!(
        character,
        '/' | '\\' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{29f5}' | '\u{2571}' | '\u{ff3c}'
    )
}

/// Returns a hyphen for similar characters, which normalization keeps apart.
fn plain_dash(character: char) -> char {
    match character {
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' => '-',
        other => other,
    }
}

fn continues_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-".contains(character)
}

/// Returns an opening bracket at the end of a text whose name may follow, for example in `Instructions from`.
pub(super) fn unfinished(text: &str) -> Option<Finding> {
    let is_nothing = |character: char| character.is_whitespace() || is_ignorable(character);
    let end = text.trim_end_matches(is_nothing);
    let end = end.trim_end_matches(|last: char| is_slash(last) || last == '／' || is_nothing(last));
    let last = end.chars().next_back().filter(|last| OPENING.contains(last))?;
    Some(Finding::tag(end.len() - last.len_utf8()..end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other characters become `<` or a slash by normalization.
    #[test]
    fn openings_are_complete() {
        let becomes = |wanted: char| -> String {
            ('\0'..=char::MAX).filter(|it| std::iter::once(*it).nfkc().any(|it| it == wanted)).collect()
        };
        assert_eq!(becomes('<'), "<﹤＜");
        assert!(becomes('/').starts_with('/') && becomes('/').ends_with('／'), "{}", becomes('/'));
    }
}
