//! Decoding of a file's bytes, with diagnostics.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::Content;
use crate::profile::{ByteOrderMark, Profile, UnsafeText};
use crate::text::safety;

/// Decodes a part of a file according to the profile.
pub(crate) fn read_content(
    content: &Content,
    kept: Range<usize>,
    path: &Path,
    profile: &Profile,
    unsafe_text: UnsafeText,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    // Only a part of the file may be decoded. Diagnostics nevertheless contain lines of the whole file.
    let lines_before = count_lines(&content.bytes[..kept.start]);
    let decoded = decode(&content.bytes[kept], profile.text.byte_order_mark);
    if let Some(problem) = &content.markup(profile).problem {
        let message = format!("the front matter cannot be followed, so it is text: {}", problem.message);
        let code = DiagnosticCode::InvalidFrontMatter;
        diagnostics.push(Diagnostic::new(code, Severity::Warning, path, message).at_line(problem.line));
    }
    if let Some(line) = decoded.invalid_line {
        let message = "bytes that are not UTF-8 are shown as U+FFFD; save the file as UTF-8";
        diagnostics.push(
            Diagnostic::new(DiagnosticCode::InvalidUtf8, Severity::Warning, path, message)
                .at_line(lines_before + line),
        );
    }
    if content.unsteady {
        let message = "the file kept changing while it was read; what is shown may be a mixture";
        diagnostics.push(Diagnostic::new(DiagnosticCode::ChangedWhileRead, Severity::Warning, path, message));
    }
    let mut checked = safety::check(&decoded.text, path, unsafe_text);
    for diagnostic in &mut checked.diagnostics {
        diagnostic.line = diagnostic.line.map(|line| lines_before + line);
    }
    diagnostics.extend(checked.diagnostics);
    match unsafe_text {
        UnsafeText::MadeHarmless => checked.text.into_owned(),
        // Emulated agents pass dangerous text on as it is. Their profiles reproduce that and only report it.
        UnsafeText::Reported => decoded.text.into_owned(),
    }
}

/// Replaces carriage returns, alone or in pairs with newlines, by newlines.
pub(crate) fn plain_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the number of line ends in bytes.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Decoded text of a file.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// First line with invalid bytes, from 1.
    pub(crate) invalid_line: Option<usize>,
}

/// Decodes bytes. Invalid UTF-8 becomes U+FFFD.
pub(crate) fn decode(bytes: &[u8], mark: ByteOrderMark) -> Decoded<'_> {
    let (mut text, invalid_line) = match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(error) => {
            let lines = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            (String::from_utf8_lossy(bytes), Some(lines + 1))
        }
    };
    // Checked after decoding, since an invalid text may begin with a mark as well.
    if mark == ByteOrderMark::Stripped && text.starts_with('\u{feff}') {
        text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text['\u{feff}'.len_utf8()..]),
            Cow::Owned(mut text) => {
                text.drain(..'\u{feff}'.len_utf8());
                Cow::Owned(text)
            }
        };
    }
    Decoded { text, invalid_line }
}

/// Returns true if bytes contain only white space, and a byte order mark if the profile strips it.
pub(crate) fn is_blank(bytes: &[u8], mark: ByteOrderMark) -> bool {
    // Most files have text within their first bytes. Only blank ones are decoded completely.
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => true,
        Some(byte) if byte.is_ascii() && !byte.is_ascii_control() => false,
        Some(_) => decode(bytes, mark).text.chars().all(char::is_whitespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blankness_is_of_white_space() {
        assert!(is_blank(b" \n\t", ByteOrderMark::Kept));
        assert!(is_blank("\u{3000}\u{a0}".as_bytes(), ByteOrderMark::Kept));
        assert!(is_blank("\u{feff} \n".as_bytes(), ByteOrderMark::Stripped));
        assert!(!is_blank("\u{feff} \n".as_bytes(), ByteOrderMark::Kept));
        assert!(!is_blank("\u{200b}".as_bytes(), ByteOrderMark::Kept));
        assert!(!is_blank(b"\0", ByteOrderMark::Kept));
    }
}
