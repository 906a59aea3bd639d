//! What counts as the text of a document: line ends, byte order mark, blankness, digest.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Normalises a document's text: CRLF and CR become LF, a leading byte order mark goes, nothing else changes.
///
/// Where several stand in a row all go, so that a normalised text stays as it is when it is saved again.
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

/// SHA-256 of a normalised text, as 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// The digest of a text.
    pub fn of(text: &str) -> Self {
        Self(hex(&Sha256::digest(text.as_bytes())))
    }

    /// A digest read back from storage.
    pub fn from_stored(hex: String) -> Self {
        Self(hex)
    }

    /// The hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl JsonSchema for ContentHash {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "ContentHash".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

/// Lowercase hexadecimal digits of some bytes.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
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
    fn digest_is_of_the_bytes() {
        assert_eq!(
            ContentHash::of("").as_str(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn only_white_space_is_blank() {
        assert!(is_blank(" \n\u{3000}\t"));
        assert!(!is_blank("\u{200b}"));
    }
}
