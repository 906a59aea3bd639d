//! What counts as the text of a document: line ends, byte order mark, blankness.

use std::borrow::Cow;

/// Normalises a document's text: CRLF and CR become LF, a leading byte order mark goes, nothing else changes.
///
/// Where several are in a row all go, so that a normalised text stays as it is when it is saved again.
pub fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}');
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a text is only white space, so that it is a draft and not an instruction.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_byte_order_mark_only() {
        assert_eq!(normalise("\u{feff}a\r\nb\rc\n\r\n"), "a\nb\nc\n\n");
        assert_eq!(normalise(" a \u{feff}\t\n"), " a \u{feff}\t\n");
        assert!(matches!(normalise("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_normalised_text_stays_as_it_is() {
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
