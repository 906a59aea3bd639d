//! Splits text into the pieces within which tokens are merged.

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// cl100k's own pattern contains a look-ahead, `\s+(?!\S)`, which is slow. Here, white space before more white space is a pattern
/// of its own, whose last character is given back.
const PATTERNS: [&str; 3] = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+$",
    r"\s+\s",
    r"\s+",
];
const GIVES_BACK: usize = 1;

#[expect(clippy::expect_used, reason = "an invalid pattern fails every test of this crate")]
static PATTERN: LazyLock<Regex> = LazyLock::new(|| Regex::new_many(&PATTERNS).expect("patterns"));

/// Splits a text into pieces, which together are the whole text.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = PATTERN.find(Input::new(rest).anchored(Anchored::Yes))?;
        let mut end = found.end();
        // The last white space belongs to the following word: a token usually begins with the blank before
        // it.
        if found.pattern().as_usize() == GIVES_BACK {
            end -= rest[..end].chars().next_back().map_or(0, char::len_utf8);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
