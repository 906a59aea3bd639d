//! Neutralization of untrusted text: it cannot close wrapper tags, and cannot hide anything from reviewers.
//!
//! All text in a prompt that Foreword did not write passes through here: files, documents, user input, tool
//! output, summaries. Changes are reversible, so that a tool can write a file back unchanged
//! ([`unsafe_parts`], [`shown_parts`]).

mod hidden;
mod scan;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;

pub(crate) use self::hidden::is_removed_by_agents;
use self::hidden::{Hidden, is_ignorable};
pub use self::hidden::{is_unseen, reorders_text};
use self::scan::{Finding, FindingKind, NEUTRAL, begins_with_name, scan, unfinished, visible};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::profile::UnsafeText;

/// Most findings of one kind reported per file, so that a hostile file cannot flood the report.
const MAX_FINDINGS: usize = 20;
/// Most characters examined for a tag's name after an escaped bracket. Names with more white space in them
/// are not recognized as escaped.
const MAX_NAME_CHARS: usize = 200;

/// A neutralized text and its diagnostics.
pub(crate) struct Checked<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Checks a text for wrapper tags and hidden characters.
pub(crate) fn check<'a>(text: &'a str, path: &Path, treatment: UnsafeText) -> Checked<'a> {
    let findings = findings_of_part(text);
    let mut line = 1;
    let mut counted = 0;
    let diagnostics = findings.iter().map(|finding| {
        let start = finding.range.start;
        line += text.as_bytes()[counted..start].iter().filter(|byte| **byte == b'\n').count();
        counted = start;
        diagnostic(text, finding, path, treatment).at_line(line)
    });
    let mut diagnostics = diagnostics.collect();
    limit(&mut diagnostics);
    Checked { text: apply(text, &findings), diagnostics }
}

/// Neutralizes a text that is followed by other text. Wrapper tags are escaped, including one that the
/// following text could complete, and hidden characters are made visible. Also returns the number of changes.
pub fn make_harmless(text: &str) -> (Cow<'_, str>, usize) {
    let findings = findings_of_part(text);
    let changes = findings.iter().filter(|finding| finding.shown().is_some()).count();
    (apply(text, &findings), changes)
}

/// Neutralizes a complete text, such as a tool's output.
pub fn neutralise(text: &str) -> Cow<'_, str> {
    apply(text, &scan(text))
}

/// Returns true if readers of a text cannot see a character.
pub fn is_invisible(character: char) -> bool {
    is_ignorable(character)
}

/// Returns a text as a careless reader perceives it: without invisible characters and outer blanks, in plain
/// lower-case letters.
pub fn skeleton(text: &str) -> String {
    // Two texts with equal skeletons look alike, so names are compared in this form to detect imitations.
    let seen = text.chars().filter(|character| !is_ignorable(*character));
    let folded: String = seen.nfkc().flat_map(char::to_lowercase).collect();
    folded.trim().to_owned()
}

/// A part of a text that [`neutralise`] replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafePart {
    /// Position of the part.
    pub range: Range<usize>,
    /// Replacement text.
    pub shown: Cow<'static, str>,
    /// Reason for the replacement.
    pub kind: UnsafeKind,
}

/// Reason for replacing a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeKind {
    /// A wrapper tag.
    Tag,
    /// It can hide or reorder text.
    Hiding,
    /// It is invisible and has no use here.
    Invisible,
}

/// Returns all parts that [`neutralise`] replaces, in order.
pub fn unsafe_parts(text: &str) -> Vec<UnsafePart> {
    let parts = scan(text).into_iter().filter_map(|finding| {
        let shown = finding.shown()?;
        let kind = match finding.kind {
            FindingKind::Tag => UnsafeKind::Tag,
            FindingKind::Hidden(_, Hidden::Dangerous(_)) => UnsafeKind::Hiding,
            FindingKind::Hidden(..) => UnsafeKind::Invisible,
        };
        Some(UnsafePart { range: finding.range, shown, kind })
    });
    parts.collect()
}

/// Returns the positions of replacements written by [`neutralise`] or by anyone else, in order.
pub fn shown_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut position = 0;
    while let Some(found) = text[position..].find(['&', '\\']) {
        position += found;
        let rest = &text[position..];
        // A replacement looks the same if the original author wrote it. A caller that restores the original has to know
        // which were in the text before, so all of them are reported.
        let length = match escape(rest) {
            Some((_, length)) => Some(length),
            None => rest.strip_prefix(NEUTRAL).filter(|rest| names_tag(rest)).map(|_| NEUTRAL.len()),
        };
        parts.extend(length.map(|length| position..position + length));
        position += length.unwrap_or(1);
    }
    parts
}

/// Returns the hidden character escaped at the beginning of a text, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let (digits, _) = text.strip_prefix("\\u{")?.split_once('}')?;
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?).filter(|it| is_ignorable(*it))?;
    let shown = visible(character);
    text.starts_with(&shown).then_some((character, shown.len()))
}

/// Returns true if a text begins with a tag's name, with or without escaped characters in it.
fn names_tag(text: &str) -> bool {
    let mut rest = text;
    let characters = std::iter::from_fn(|| {
        let first = rest.chars().next()?;
        let (character, length) = escape(rest).unwrap_or((first, first.len_utf8()));
        rest = &rest[length..];
        Some(character)
    });
    begins_with_name(characters.take(MAX_NAME_CHARS))
}

/// Returns the findings in a text whose last tag may be completed by following text.
fn findings_of_part(text: &str) -> Vec<Finding> {
    let mut findings = scan(text);
    if let Some(last) = unfinished(text) {
        // Only invisible characters can follow it.
        let position = findings.partition_point(|finding| finding.range.start < last.range.start);
        findings.insert(position, last);
    }
    findings
}

fn apply<'a>(text: &'a str, findings: &[Finding]) -> Cow<'a, str> {
    let mut changed = String::new();
    let mut position = 0;
    for (finding, shown) in findings.iter().filter_map(|finding| Some((finding, finding.shown()?))) {
        changed.push_str(&text[position..finding.range.start]);
        changed.push_str(&shown);
        position = finding.range.end;
    }
    if position == 0 {
        return Cow::Borrowed(text);
    }
    changed.push_str(&text[position..]);
    Cow::Owned(changed)
}

fn diagnostic(text: &str, finding: &Finding, path: &Path, treatment: UnsafeText) -> Diagnostic {
    let (code, severity, message) = match finding.kind {
        FindingKind::Tag => {
            let rest = &text[finding.range.start..];
            let quoted: String = rest.chars().take(30).take_while(|character| *character != '\n').collect();
            let opening = &text[finding.range.clone()];
            let done = match treatment {
                UnsafeText::MadeHarmless => format!("its `{opening}` is written as `{NEUTRAL}`"),
                UnsafeText::Reported => "it is passed on as it is".to_owned(),
            };
            let message = format!("`{}` looks like one of our own tags; {done}", without_hidden(&quoted));
            (DiagnosticCode::WrapperTag, Severity::Warning, message)
        }
        FindingKind::Hidden(character, hidden) => {
            let number = u32::from(character);
            let shown = match treatment {
                UnsafeText::MadeHarmless => format!("shown as {}", visible(character)),
                UnsafeText::Reported => "it is passed on as it is".to_owned(),
            };
            match hidden {
                Hidden::Dangerous(name) => {
                    let message = format!("{name} (U+{number:04X}) that can hide text; {shown}");
                    (DiagnosticCode::HiddenUnicode, Severity::Error, message)
                }
                Hidden::Misplaced(name) => {
                    let message = format!("{name} (U+{number:04X}) that cannot be seen; {shown}");
                    (DiagnosticCode::ZeroWidth, Severity::Warning, message)
                }
                Hidden::Honest(name) => {
                    let message = format!("{name} (U+{number:04X}) that cannot be seen");
                    (DiagnosticCode::ZeroWidth, Severity::Warning, message)
                }
            }
        }
    };
    Diagnostic::new(code, severity, path, message)
}

/// Escapes hidden characters, so that a message about them does not contain them.
fn without_hidden(text: &str) -> String {
    let shown = |it: char| if is_ignorable(it) { visible(it) } else { it.to_string() };
    text.chars().map(shown).collect()
}

/// Keeps the first findings of each kind and notes the number of others.
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
mod tests;
