//! SHA-256 hashes of texts and files.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 as 64 lowercase hexadecimal digits. A plain string in JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hashes a text or bytes.
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self::from_digest(&Sha256::digest(content).into())
    }

    /// Creates a hash from the bytes of a digest.
    pub fn from_digest(digest: &[u8; 32]) -> Self {
        Self(hex(digest))
    }

    /// Returns true if a text is a digest in the format of this type.
    pub fn is_valid(text: &str) -> bool {
        text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// Creates a hash from a stored text without checking it. A wrong one fails when it is compared.
    pub fn from_stored(hex: String) -> Self {
        Self(hex)
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` respects width and precision, so that `{:.12}` prints a short hash.
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

/// Returns bytes as lowercase hexadecimal digits.
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
