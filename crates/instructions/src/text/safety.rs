//! Text of others is data: it cannot close our wrappers, and nothing in it hides from the people who review it.
//!
//! Everything that reaches a prompt and was not written by us goes through here: files, documents, what users type or
//! pipe, what tools answer, summaries. What is changed can be told from what was there, so that a tool can write a file
//! back as it was ([`unsafe_parts`], [`shown_parts`]).

mod hidden;
mod scan;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;

use self::hidden::{Hidden, is_ignorable};
use self::scan::{Finding, FindingKind, NEUTRAL, begins_with_name, scan, unfinished, visible};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};

/// How many findings of one kind are reported for a file, so that a hostile one does not flood the report.
const MAX_FINDINGS: usize = 20;
/// How many characters of a text are looked through for the name of a tag that was shown. One with more white space in it
/// is found where it was, and not where it was moved.
const MAX_NAME_CHARS: usize = 200;

/// A text made harmless, and what was found in it.
pub(crate) struct Checked<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Looks for our tags and for hidden characters.
pub(crate) fn check<'a>(text: &'a str, path: &Path) -> Checked<'a> {
    let findings = findings_of_part(text);
    let (mut line, mut counted) = (1, 0);
    let diagnostics = findings.iter().map(|finding| {
        let start = finding.range.start;
        line += text.as_bytes()[counted..start].iter().filter(|byte| **byte == b'\n').count();
        counted = start;
        diagnostic(text, finding, path).at_line(line)
    });
    let mut diagnostics = diagnostics.collect();
    limit(&mut diagnostics);
    Checked { text: apply(text, &findings), diagnostics }
}

/// Makes a text harmless that more of ours follows: our tags are neutralised, also one that what follows could finish, and
/// characters that can hide text are made visible. The second value says how often that was needed.
pub fn make_harmless(text: &str) -> (Cow<'_, str>, usize) {
    let findings = findings_of_part(text);
    let changes = findings.iter().filter(|finding| finding.shown().is_some()).count();
    (apply(text, &findings), changes)
}

/// Makes a text harmless that stands alone, such as a tool's output.
pub fn neutralise(text: &str) -> Cow<'_, str> {
    apply(text, &scan(text))
}

/// Whether a character cannot be seen by whoever reads a text.
pub fn is_invisible(character: char) -> bool {
    is_ignorable(character)
}

/// A text as people take it who do not look closely: without what cannot be seen and outer blanks, in plain small letters.
pub fn skeleton(text: &str) -> String {
    let seen = text.chars().filter(|character| !is_ignorable(*character));
    let folded: String = seen.nfkc().flat_map(char::to_lowercase).collect();
    folded.trim().to_owned()
}

/// A part of a text that [`neutralise`] shows as something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafePart {
    /// Where it is.
    pub range: Range<usize>,
    /// What is shown instead.
    pub shown: Cow<'static, str>,
    /// Why.
    pub kind: UnsafeKind,
}

/// Why a part of a text is shown as something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeKind {
    /// It is one of our tags.
    Tag,
    /// It can carry text that people do not see, or reorder what they see.
    Hiding,
    /// It cannot be seen, and has no use here.
    Invisible,
}

/// Everything that [`neutralise`] changes, in order.
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

/// Where a text has what [`neutralise`] writes, whoever wrote it, in order.
pub fn shown_parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut position = 0;
    while let Some(found) = text[position..].find(['&', '\\']) {
        position += found;
        let rest = &text[position..];
        let length = match escape(rest) {
            Some((_, length)) => Some(length),
            None => rest.strip_prefix(NEUTRAL).filter(|rest| names_tag(rest)).map(|_| NEUTRAL.len()),
        };
        parts.extend(length.map(|length| position..position + length));
        position += length.unwrap_or(1);
    }
    parts
}

/// A hidden character that was made visible at the beginning of a text, and how long that is.
fn escape(text: &str) -> Option<(char, usize)> {
    let (digits, _) = text.strip_prefix("\\u{")?.split_once('}')?;
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?).filter(|it| is_ignorable(*it))?;
    let shown = visible(character);
    text.starts_with(&shown).then_some((character, shown.len()))
}

/// Whether a text begins with a tag's name, also where characters in it were made visible.
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

/// What is found in a text that more of ours follows, which could finish a tag.
fn findings_of_part(text: &str) -> Vec<Finding> {
    let mut findings = scan(text);
    if let Some(last) = unfinished(text) {
        // Only what cannot be seen comes after it.
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

fn diagnostic(text: &str, finding: &Finding, path: &Path) -> Diagnostic {
    let (code, severity, message) = match finding.kind {
        FindingKind::Tag => {
            let rest = &text[finding.range.start..];
            let quoted: String = rest.chars().take(30).take_while(|character| *character != '\n').collect();
            let opening = &text[finding.range.clone()];
            let message = format!(
                "`{}` looks like one of our own tags; its `{opening}` is written as `{NEUTRAL}`",
                without_hidden(&quoted)
            );
            (DiagnosticCode::WrapperTag, Severity::Warning, message)
        }
        FindingKind::Hidden(character, hidden) => {
            let (number, visible) = (u32::from(character), visible(character));
            match hidden {
                Hidden::Dangerous(name) => {
                    let message = format!("{name} (U+{number:04X}) that can hide text; shown as {visible}");
                    (DiagnosticCode::HiddenUnicode, Severity::Error, message)
                }
                Hidden::Misplaced(name) => {
                    let message = format!("{name} (U+{number:04X}) that cannot be seen; shown as {visible}");
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

/// A message must not do what it warns of.
fn without_hidden(text: &str) -> String {
    let shown = |it: char| if is_ignorable(it) { visible(it) } else { it.to_string() };
    text.chars().map(shown).collect()
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
mod tests;
