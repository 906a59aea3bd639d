//! SHA-256 of texts and files, as everything that is kept, sent or compared writes it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 as 64 lowercase hexadecimal digits; a plain string in JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hashes a text or bytes.
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self::from_digest(&Sha256::digest(content).into())
    }

    /// For whoever needs the digest's bytes, too.
    pub fn from_digest(digest: &[u8; 32]) -> Self {
        Self(hex(digest))
    }

    /// Whether a text is a digest as this type writes it.
    pub fn is_one(text: &str) -> bool {
        text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// Takes what was stored for what it says; a wrong one is found when it is compared.
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
        formatter.pad(&self.0)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ContentHash {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContentHash".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
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
    fn a_digest_is_of_the_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(ContentHash::of("").as_str(), empty);
        assert_eq!(ContentHash::of([]), ContentHash::of(""));
        assert_eq!(hex(&[0x0f, 0xa0]), "0fa0");
    }
}
