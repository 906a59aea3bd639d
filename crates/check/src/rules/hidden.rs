//! Invisible characters, and text that looks like agents' tags.

use instructions::{UnsafeKind, UnsafePart, unsafe_parts};

use crate::document::{Document, Encoding};
use crate::finding::{Finding, Findings, quoted};
use crate::markdown::{code_ranges, is_in};
use crate::rule::RuleId;

/// Most lines reported per file and rule. The last one contains the number of others.
const MAX_LINES: usize = 10;

pub(super) fn run(document: &Document, findings: &mut Findings<'_>) {
    let parts = unsafe_parts(&document.text);
    let code = if parts.is_empty() { Vec::new() } else { code_ranges(&document.text) };
    for (kind, rule) in [
        (UnsafeKind::Hiding, RuleId::HiddenText),
        (UnsafeKind::Invisible, RuleId::InvisibleCharacter),
        (UnsafeKind::Tag, RuleId::WrapperTag),
    ] {
        // Line, number of parts, start of the first, and true if any is outside of code.
        let mut lines: Vec<(usize, usize, usize, bool)> = Vec::new();
        let mut line = 1;
        let mut counted = 0;
        for part in parts.iter().filter(|part| part.kind == kind) {
            let start = part.range.start;
            // Line ends are counted from the previous part on, so that a file full of such characters is scanned once.
            line += document.text[counted..start].matches('\n').count();
            counted = start;
            let is_text = !is_in(&code, start);
            match lines.last_mut() {
                Some((last, count, _, has_text)) if *last == line => {
                    *count += 1;
                    *has_text |= is_text;
                }
                _ => lines.push((line, 1, start, is_text)),
            }
        }
        let more = lines.len().saturating_sub(MAX_LINES);
        for (index, (line, count, start, has_text)) in lines.into_iter().take(MAX_LINES).enumerate() {
            let mut message = describe(&document.text[start..], kind, count);
            if more > 0 && index + 1 == MAX_LINES {
                message.push_str(&format!(" (and {more} more lines)"));
            }
            let mut finding = Finding::new(rule, &document.path, message).at_line(line);
            if kind == UnsafeKind::Invisible && has_text && is_fixable(document.encoding) {
                finding = finding.fixable();
            }
            findings.push(finding);
        }
    }
}

fn describe(text: &str, kind: UnsafeKind, count: usize) -> String {
    let first = text.chars().next().unwrap_or_default();
    let number = format!("U+{:04X}", u32::from(first));
    let what = match kind {
        UnsafeKind::Hiding => "characters that hide text, or reorder it",
        UnsafeKind::Invisible => "invisible characters without a use here",
        UnsafeKind::Tag => {
            let tag: String = text.chars().take(30).take_while(|letter| *letter != '\n').collect();
            let tag = tag.split_inclusive('>').next().unwrap_or(&tag);
            return format!("{} looks like a tag that agents put around instructions", quoted(tag));
        }
    };
    match count {
        1 => format!("{number} is one of the {what}"),
        count => format!("this line has {count} {what}, such as {number}"),
    }
}

/// Returns true if rewriting the file preserves its other content.
fn is_fixable(encoding: Encoding) -> bool {
    !matches!(encoding, Encoding::Invalid { .. })
}

/// Returns a text without misplaced invisible characters. Characters that hide text stay for review, and
/// characters in code may be examples.
pub(crate) fn without_invisible(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut position = 0;
    let code = code_ranges(text);
    let is_meant = |part: &UnsafePart| part.kind == UnsafeKind::Invisible && !is_in(&code, part.range.start);
    for part in unsafe_parts(text).into_iter().filter(is_meant) {
        cleaned.push_str(&text[position..part.range.start]);
        position = part.range.end;
    }
    cleaned.push_str(&text[position..]);
    cleaned
}
