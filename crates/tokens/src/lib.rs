//! Counts tokens with OpenAI's encodings, as an estimate for other models.
//!
//! ```
//! use tokens::{Encoding, count};
//!
//! assert_eq!(count(Encoding::Cl100k, "Answer briefly."), 3);
//! ```

mod hash;
mod merge;
mod pieces;
mod table;

use std::collections::HashMap;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Texts whose count a counter remembers before it starts over.
const REMEMBERED: usize = 16_384;
/// Shorter texts are counted faster than they are hashed.
const WORTH_REMEMBERING: usize = 256;

/// Encoding of text as tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Encoding of GPT-4 and its contemporaries; our estimate for every model.
    Cl100k,
}

/// Counts the tokens of a text.
pub fn count(encoding: Encoding, text: &str) -> usize {
    match encoding {
        Encoding::Cl100k => pieces::split(text).map(|piece| merge::count(piece.as_bytes())).sum(),
    }
}

/// Counts tokens, and remembers the counts of long texts. Shared by any number of threads.
#[derive(Debug, Default)]
pub struct Counter {
    known: Mutex<HashMap<(Encoding, [u8; 32]), usize>>,
}

impl Counter {
    /// Counts the tokens of a text.
    pub fn count(&self, encoding: Encoding, text: &str) -> usize {
        if text.len() < WORTH_REMEMBERING {
            return count(encoding, text);
        }
        self.count_hashed(encoding, text, Sha256::digest(text.as_bytes()).into())
    }

    /// Counts the tokens of a text whose SHA-256 is already known.
    pub fn count_hashed(&self, encoding: Encoding, text: &str, sha256: [u8; 32]) -> usize {
        let key = (encoding, sha256);
        if let Some(known) = self.known.lock().get(&key) {
            return *known;
        }
        // Counted without the lock, which other threads need. Counting the same text twice is rare and harmless.
        let tokens = count(encoding, text);
        let mut known = self.known.lock();
        // Starting over is simpler than evicting the oldest text and costs one count per text that is still
        // in use.
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, tokens);
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn oracle(encoding: Encoding, text: &str) -> usize {
        match encoding {
            Encoding::Cl100k => tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len(),
        }
    }

    fn agree(text: &str) {
        let counter = Counter::default();
        let encoding = Encoding::Cl100k;
        let expected = oracle(encoding, text);
        assert_eq!(count(encoding, text), expected, "{encoding:?} {text:?}");
        assert_eq!(counter.count(encoding, text), expected, "first, {encoding:?} {text:?}");
        assert_eq!(counter.count(encoding, text), expected, "again, {encoding:?} {text:?}");
    }

    #[test]
    fn odd_texts_agree_with_the_oracle() {
        for text in [
            "",
            " ",
            "\n\n\n",
            "  x  ",
            "<|endoftext|>",
            "a\u{3000}b",
            "👩\u{200d}👧",
            "don't  DON'T",
            "１２３",
        ] {
            agree(text);
        }
        agree(&"Use `make check`.\n".repeat(200));
    }

    // A single endless piece: the usual tokenizers need quadratic time for it.
    #[test]
    fn endless_words_agree_with_the_oracle() {
        for text in ["a", "ab", "zq", "é", "日本", " ", "\n", "!", "0", "-=", " \t"] {
            agree(&text.repeat(500));
        }
        // With a quadratic algorithm this would not finish.
        assert!(count(Encoding::Cl100k, &"zqx".repeat(300_000)) > 300_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn random_texts_agree_with_the_oracle(text in "\\PC{0,300}") {
            agree(&text);
        }

        #[test]
        fn random_white_space_and_digits_agree(text in "[ \\n\\t\u{a0}0-9a-zA-Z'.,é]{0,200}") {
            agree(&text);
        }
    }
}
