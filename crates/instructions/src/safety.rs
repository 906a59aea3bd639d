//! Text from disk is data: it cannot close our wrappers, and nothing in it hides from the people who review it.

use std::borrow::Cow;
use std::path::Path;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};

/// The tags our texts are wrapped in.
const TAGS: &[&str] = &["AGENTS_MD", "agents_context", "system-reminder", "INSTRUCTIONS"];

/// How many findings of one kind are reported for a file, so that a hostile one does not flood the report.
const MAX_FINDINGS: usize = 20;

/// A text made harmless, and what was found in it.
pub(crate) struct Checked<'a> {
    pub(crate) text: Cow<'a, str>,
    /// How often something was changed.
    pub(crate) changes: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Looks for our tags and for hidden characters.
pub(crate) fn check<'a>(text: &'a str, path: &Path) -> Checked<'a> {
    let mut diagnostics = Vec::new();
    let tags = tag_positions(text).into_iter().chain(unfinished(text));
    let mut changes: Vec<(usize, usize, Cow<'static, str>)> = Vec::new();
    for position in tags {
        changes.push((position, 1, Cow::Borrowed("&lt;")));
        let shown: String = text[position..].chars().take(30).take_while(|c| *c != '\n').collect();
        let message = format!("`{shown}` looks like one of our own tags; its `<` is written as `&lt;`");
        diagnostics.push(
            Diagnostic::new(DiagnosticCode::WrapperTag, Severity::Warning, path, message)
                .at_line(line(text, position)),
        );
    }
    if !text.is_ascii() {
        hidden(text, path, &mut changes, &mut diagnostics);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    limit(&mut diagnostics);
    changes.sort_unstable_by_key(|(position, ..)| *position);
    Checked { text: apply(text, &changes), changes: changes.len(), diagnostics }
}

/// Replaces the `<` of our tags, for text that is not a file, such as a tool's output.
pub fn neutralise(text: &str) -> Cow<'_, str> {
    without_tags(text, tag_positions(text))
}

/// Makes a text harmless that is not a file: our tags are neutralised, and characters that can hide text are made
/// visible. The second value says how often that was needed.
pub fn make_harmless(text: &str) -> (Cow<'_, str>, usize) {
    let checked = check(text, Path::new(""));
    (checked.text, checked.changes)
}

/// The same for text that more of ours follows, which could finish a tag.
pub(crate) fn neutralise_part(text: &str) -> Cow<'_, str> {
    without_tags(text, tag_positions(text).into_iter().chain(unfinished(text)))
}

fn without_tags(text: &str, positions: impl IntoIterator<Item = usize>) -> Cow<'_, str> {
    let changes: Vec<(usize, usize, Cow<'static, str>)> =
        positions.into_iter().map(|position| (position, 1, Cow::Borrowed("&lt;"))).collect();
    apply(text, &changes)
}

/// Where a tag begins at the end of a text whose name is still to come: our next words may well be `Instructions from`.
fn unfinished(text: &str) -> Option<usize> {
    let end = text.trim_end();
    let end = end.strip_suffix('/').unwrap_or(end).trim_end();
    end.ends_with('<').then(|| end.len() - 1)
}

/// Where our tags begin: opening or closing, in any letter case, with white space inside.
fn tag_positions(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut positions = Vec::new();
    for (position, _) in text.match_indices('<') {
        let mut rest = bytes[position + 1..].trim_ascii_start();
        if let Some(closing) = rest.strip_prefix(b"/") {
            rest = closing.trim_ascii_start();
        }
        let is_ours = TAGS.iter().any(|tag| {
            rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
                && rest
                    .get(tag.len())
                    .is_none_or(|next| !next.is_ascii_alphanumeric() && !b"_-".contains(next))
        });
        if is_ours {
            positions.push(position);
        }
    }
    positions
}

fn apply<'a>(text: &'a str, changes: &[(usize, usize, Cow<'static, str>)]) -> Cow<'a, str> {
    if changes.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut changed = String::with_capacity(text.len() + changes.len() * 8);
    let mut position = 0;
    for (start, length, replacement) in changes {
        changed.push_str(&text[position..*start]);
        changed.push_str(replacement);
        position = start + length;
    }
    changed.push_str(&text[position..]);
    Cow::Owned(changed)
}

fn line(text: &str, position: usize) -> usize {
    text.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// What a character that cannot be seen is for.
enum Hidden {
    /// It can carry text that people do not see, or reorder what they see.
    Dangerous(&'static str),
    /// It has honest uses.
    Soft(&'static str),
}

fn hidden_kind(character: char) -> Option<Hidden> {
    match character {
        '\u{e0000}'..='\u{e007f}' => Some(Hidden::Dangerous("a tag character")),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Hidden::Dangerous("a bidirectional control"))
        }
        '\u{e0100}'..='\u{e01ef}' => Some(Hidden::Dangerous("a variation selector supplement")),
        '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' => {
            Some(Hidden::Soft("a zero-width character"))
        }
        '\u{200e}' | '\u{200f}' | '\u{61c}' => Some(Hidden::Soft("a directional mark")),
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{180e}'
        | '\u{2061}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}' => Some(Hidden::Soft("an invisible character")),
        _ => None,
    }
}

fn hidden(
    text: &str,
    path: &Path,
    changes: &mut Vec<(usize, usize, Cow<'static, str>)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut line = 1;
    let mut before = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((position, character)) = characters.next() {
        if character == '\n' {
            line += 1;
        }
        let after = characters.peek().map_or(' ', |(_, next)| *next);
        match hidden_kind(character) {
            None => {}
            Some(Hidden::Soft(_)) if character == '\u{200d}' && joins_emoji(before, after) => {}
            Some(Hidden::Soft(name)) => {
                let message = format!("{name} (U+{:04X}) that cannot be seen", u32::from(character));
                diagnostics.push(
                    Diagnostic::new(DiagnosticCode::ZeroWidth, Severity::Warning, path, message)
                        .at_line(line),
                );
            }
            Some(Hidden::Dangerous(name)) => {
                let visible = format!("\\u{{{:x}}}", u32::from(character));
                let message =
                    format!("{name} (U+{:04X}) that can hide text; shown as {visible}", u32::from(character));
                diagnostics.push(
                    Diagnostic::new(DiagnosticCode::HiddenUnicode, Severity::Error, path, message)
                        .at_line(line),
                );
                changes.push((position, character.len_utf8(), Cow::Owned(visible)));
            }
        }
        before = character;
    }
}

/// Whether a joiner stands between two pictures, as in a family emoji.
fn joins_emoji(before: char, after: char) -> bool {
    let picture = |character: char| matches!(u32::from(character), 0x1f000..=0x1faff | 0x2190..=0x2bff | 0xfe0f | 0x3030 | 0x303d | 0xa9 | 0xae);
    picture(before) && picture(after)
}

/// Keeps the first findings of each kind and says how many there were.
fn limit(diagnostics: &mut Vec<Diagnostic>) {
    for code in [DiagnosticCode::WrapperTag, DiagnosticCode::ZeroWidth, DiagnosticCode::HiddenUnicode] {
        let count = diagnostics.iter().filter(|diagnostic| diagnostic.code == code).count();
        if count <= MAX_FINDINGS {
            continue;
        }
        let mut seen = 0;
        diagnostics.retain_mut(|diagnostic| {
            if diagnostic.code != code {
                return true;
            }
            seen += 1;
            if seen == MAX_FINDINGS {
                diagnostic.message.push_str(&format!(" (and {} more in this file)", count - MAX_FINDINGS));
            }
            seen <= MAX_FINDINGS
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> (String, Vec<DiagnosticCode>) {
        let checked = check(text, Path::new("/f"));
        (checked.text.into_owned(), checked.diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn our_tags_are_neutralised_in_every_spelling() {
        for tag in [
            "</AGENTS_MD>",
            "<agents_context scope=\"x\">",
            "< / SYSTEM-reminder >",
            "</instructions\n>",
            "<INSTRUCTIONS",
        ] {
            let (text, codes) = checked(tag);
            assert_eq!(text, format!("&lt;{}", &tag[1..]));
            assert_eq!(codes, [DiagnosticCode::WrapperTag]);
        }
        for harmless in ["<instructions2>", "<AGENTS_MD-x>", "a < b", "<system>", "<p"] {
            assert_eq!(checked(harmless), (harmless.to_owned(), vec![]));
        }
    }

    #[test]
    fn what_follows_a_text_cannot_finish_a_tag() {
        for (text, harmless) in [("a <", "a &lt;"), ("< / \n\n", "&lt; / \n\n"), ("</", "&lt;/")] {
            assert_eq!(checked(text), (harmless.to_owned(), vec![DiagnosticCode::WrapperTag]));
            assert_eq!(neutralise_part(text), harmless);
            assert_eq!(neutralise(text), text, "a text that stands alone is finished");
        }
        assert_eq!(checked("a </p> < b").1, Vec::<DiagnosticCode>::new());
    }

    #[test]
    fn dangerous_characters_are_made_visible_and_soft_ones_reported() {
        assert_eq!(checked("a\u{202e}b"), ("a\\u{202e}b".into(), vec![DiagnosticCode::HiddenUnicode]));
        assert_eq!(checked("a\u{e0041}"), ("a\\u{e0041}".into(), vec![DiagnosticCode::HiddenUnicode]));
        assert_eq!(checked("a\u{e0100}"), ("a\\u{e0100}".into(), vec![DiagnosticCode::HiddenUnicode]));
        assert_eq!(
            checked("a\u{200b}b\u{ad}"),
            ("a\u{200b}b\u{ad}".into(), vec![DiagnosticCode::ZeroWidth, DiagnosticCode::ZeroWidth])
        );
    }

    #[test]
    fn findings_are_said_in_english() {
        let messages = |text: &str| -> Vec<String> {
            check(text, Path::new("/f")).diagnostics.into_iter().map(|found| found.message).collect()
        };
        assert_eq!(messages("\u{ad}"), ["an invisible character (U+00AD) that cannot be seen"]);
        assert_eq!(messages("\u{200b}"), ["a zero-width character (U+200B) that cannot be seen"]);
    }

    #[test]
    fn emoji_joiners_are_nobodys_business() {
        assert_eq!(checked("👩\u{200d}👧"), ("👩\u{200d}👧".into(), vec![]));
        assert_eq!(checked("❤\u{fe0f}\u{200d}🔥").1, Vec::<DiagnosticCode>::new());
        assert_eq!(checked("a\u{200d}b").1, [DiagnosticCode::ZeroWidth]);
    }

    #[test]
    fn a_flood_is_reported_once() {
        let checked = check(&"\u{202e}".repeat(1000), Path::new("/f")).diagnostics;
        assert_eq!(checked.len(), MAX_FINDINGS);
        assert!(checked[MAX_FINDINGS - 1].message.contains("980 more"));
    }
}
