//! Transformations that agents apply to a text: removing front matter, comments and hidden characters.

use std::borrow::Cow;

pub(crate) use crate::text::marked::without_comments;
use crate::text::marked::{self, Dialect, Kind, Token, is_space};
use crate::text::safety::is_removed_by_agents;
/// A rule that is listed but not included until a path matches.
pub(crate) struct WaitingRule {
    pub(crate) path: String,
    pub(crate) globs: String,
    pub(crate) description: String,
}

/// Removes comments that are blocks of their own, and with any comment in the text all definitions of links.
pub(crate) fn without_comment_blocks(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") {
        return Cow::Borrowed(text);
    }
    // The agent joins what its parser returns, so everything that the parser forgets is lost.
    let mut kept = String::with_capacity(text.len());
    for token in marked::lex(text, Dialect::Plain) {
        match without_comment(&token) {
            Some(rest) if rest.trim_matches(is_space).is_empty() => {}
            Some(rest) => kept.push_str(&rest),
            None => kept.push_str(&token.raw),
        }
    }
    Cow::Owned(kept)
}

/// Returns the HTML around the comments of a token. `None` if it does not begin with a comment.
pub(crate) fn without_comment(token: &Token) -> Option<String> {
    let html = token.raw.trim_start_matches(is_space);
    let is_comment = token.kind == Kind::Html && html.starts_with("<!--") && html.contains("-->");
    is_comment.then(|| marked::without_comments(&token.raw))
}

/// Returns a text with composed characters (NFC).
pub(crate) fn composed(text: String) -> String {
    use unicode_normalization::{UnicodeNormalization as _, is_nfc};
    if is_nfc(&text) { text } else { text.nfc().collect() }
}

/// Removes characters that hide text or change its direction.
pub(crate) fn without_invisible(text: &str) -> Cow<'_, str> {
    if text.contains(is_removed_by_agents) {
        Cow::Owned(text.replace(is_removed_by_agents, ""))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_blocks_are_removed() {
        for (text, expected) in [
            ("a\n<!-- x -->\nb\n", "a\nb\n"),
            ("<!-- x\n\ny -->\n\n\nb\n", "b\n"),
            ("  <!-- x -->\nb", "b"),
            ("<!-- x --> rest\nb", " rest\nb"),
            ("a <!-- x --> b\n", "a <!-- x --> b\n"),
            ("a\n  <!-- x -->\nb\n", "a\n  <!-- x -->\nb\n"),
            ("    <!-- x -->\n", "    <!-- x -->\n"),
            ("```\n<!-- x -->\n```\n", "```\n<!-- x -->\n```\n"),
            ("- a\n  <!-- x -->\n", "- a\n  <!-- x -->\n"),
            ("> <!-- x -->\n", "> <!-- x -->\n"),
            ("<!-- x\nb\n", "<!-- x\nb\n"),
            ("<div>\n<!-- x -->\n</div>\n", "<div>\n<!-- x -->\n</div>\n"),
            ("a\r\n<!-- x -->\r\nb", "a\nb"),
            ("a\n<!-- b --> <!-- c -->\n<!-- d -->e\n\n\n<!-- f\n\ng -->\n\n\nh\n", "a\ne\n\n\nh\n"),
            (
                "a\n\n   <!-- b -->\n\n<!-- c --> d <!-- e -->\n<!--f--><!--g-->\n<!---->\n<!--> h -->\ni",
                "a\n\n d \ni",
            ),
        ] {
            assert_eq!(without_comment_blocks(text), expected, "{text}");
        }
    }

    #[test]
    fn hidden_characters_are_removed_but_joiners_stay() {
        assert_eq!(without_invisible("a\u{200b}b\u{202e}c\u{e0041}\u{ad}\u{feff}"), "abc");
        assert_eq!(without_invisible("a\u{200d}\u{fe0f}\u{2028}"), "a\u{200d}\u{fe0f}\u{2028}");
    }
}
