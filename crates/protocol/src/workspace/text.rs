//! Normalization of document texts.

use std::borrow::Cow;

/// Normalizes a document's text: CRLF and CR become LF, leading byte order marks are removed, nothing else
/// changes.
///
/// All leading byte order marks are removed, so that saving a normalized text again changes nothing.
// A save of identical text must not create a version. Normalization therefore has to be idempotent: a text
// read from the gateway and saved again compares equal.
pub fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}');
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns true if a text is only white space, which makes its document a draft.
pub fn is_blank(text: &str) -> bool {
    // Unicode white space counts, but zero-width characters do not: they can be part of a text in some
    // scripts.
    text.chars().all(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_ends_and_byte_order_mark_change() {
        assert_eq!(normalise("\u{feff}a\r\nb\rc\n\r\n"), "a\nb\nc\n\n");
        assert_eq!(normalise(" a \u{feff}\t\n"), " a \u{feff}\t\n");
        assert!(matches!(normalise("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn normalization_is_idempotent() {
        for text in ["\u{feff}\u{feff}a", "\r\r\n", "\u{feff}\r\u{feff}"] {
            let once = normalise(text);
            assert_eq!(normalise(&once), once);
        }
    }

    #[test]
    fn only_white_space_is_blank() {
        assert!(is_blank(" \n\u{3000}\t"));
        assert!(!is_blank("\u{200b}"));
    }
}
