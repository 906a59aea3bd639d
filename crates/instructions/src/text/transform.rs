//! Transformations that agents apply to a text: removing front matter, comments and hidden characters.

use std::borrow::Cow;

use crate::text::safety::is_removed_by_agents;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A rule that is listed but not included until a path matches.
pub(crate) struct WaitingRule {
    pub(crate) path: String,
    pub(crate) globs: String,
    pub(crate) description: String,
}

/// Removes comments that are blocks of their own, with the blank lines after them. As in the parser of the agent,
/// an indented comment right below a paragraph belongs to the paragraph.
pub(crate) fn without_comment_blocks(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") {
        return Cow::Borrowed(text);
    }
    // The agents normalize line ends before they parse, and the offsets below refer to that text.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut at = 0;
    let mut paragraph_end = 0;
    for (event, range) in Parser::new_ext(&text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) if depth == 0 && range.start >= at => {
                depth += 1;
                let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
                let is_indented = text[start..range.end].starts_with(' ');
                let html = &text[range.clone()];
                if !html.trim_start().starts_with("<!--")
                    || !html.contains("-->")
                    || is_indented && paragraph_end == start && start > 0
                {
                    continue;
                }
                let newlines = text[range.end..].bytes().take_while(|byte| *byte == b'\n').count();
                let end = range.end + newlines;
                kept.push_str(&text[at..start.max(at)]);
                let rest = without_comments(&text[start..end]);
                if !rest.trim().is_empty() {
                    kept.push_str(&rest);
                }
                at = end;
            }
            Event::Start(_) => depth += 1,
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && end == TagEnd::Paragraph {
                    paragraph_end = range.end;
                }
            }
            _ => {}
        }
    }
    kept.push_str(&text[at..]);
    Cow::Owned(kept)
}

/// Removes all comments.
pub(crate) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        // An unclosed comment stays in the text, as it does in the agents.
        let Some(length) = rest[start + 4..].find("-->") else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[start + 4 + length + 3..];
    }
    kept.push_str(rest);
    kept
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
