//! Transformations that agents apply to a text: removing front matter, comments and hidden characters.

use std::borrow::Cow;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::profile::RuleConditions;
use crate::text::header::{Header, MAX_BYTES, globs, parse_as_others};
use crate::text::safety::is_removed_by_agents;

/// Condition in the front matter of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RuleHeader {
    Always,
    Globs {
        globs: Vec<String>,
        description: String,
    },
    /// It requires a key that is absent or false.
    NotAlways,
    /// The front matter is invalid, and the file is lost.
    Invalid,
}

/// A rule that is listed but not included until a path matches.
pub(crate) struct WaitingRule {
    pub(crate) path: String,
    pub(crate) globs: String,
    pub(crate) description: String,
}

/// Reads the condition of a rule.
pub(crate) fn rule_header(header: Option<Header<'_>>, conditions: &RuleConditions) -> RuleHeader {
    let Some(header) = header else {
        return if conditions.always.is_some() { RuleHeader::NotAlways } else { RuleHeader::Always };
    };
    // YAML parsers need time and memory beyond the size of hostile input, so large headers are not parsed.
    // An oversized header is treated like an invalid one: parsing it would cost far more than any real rule does.
    let values = if header.yaml.len() <= MAX_BYTES { parse_as_others(header.yaml) } else { None };
    let Some(values) = values else {
        return if conditions.invalid_is_lost { RuleHeader::Invalid } else { RuleHeader::Always };
    };
    if conditions.always.is_some_and(|key| values.get(key) == Some(&Value::Bool(true))) {
        return RuleHeader::Always;
    }
    let globs = conditions.keys.iter().find_map(|key| {
        let globs = globs(values.get(*key)?);
        (!globs.is_empty()).then_some(globs)
    });
    match globs {
        Some(globs) if !globs.iter().all(|glob| conditions.everything.contains(&glob.as_str())) => {
            let description = values.get("description").and_then(Value::as_str).unwrap_or_default();
            RuleHeader::Globs { globs, description: description.to_owned() }
        }
        _ if conditions.always.is_some_and(|key| values.get(key) != Some(&Value::Bool(true))) => {
            RuleHeader::NotAlways
        }
        _ => RuleHeader::Always,
    }
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
    use crate::profile::GlobMatching;
    use crate::text::header::{Fence, find};

    const PATHS: RuleConditions = RuleConditions {
        keys: &["paths"],
        everything: &["**"],
        always: None,
        invalid_is_lost: true,
        matching: GlobMatching::WholePath,
    };

    #[test]
    fn conditions_of_rules() {
        let globs = |text: &str| match rule_header(find(text, Fence::Exact), &PATHS) {
            RuleHeader::Always => "always".to_owned(),
            RuleHeader::Invalid => "invalid".to_owned(),
            RuleHeader::NotAlways => "unasked".to_owned(),
            RuleHeader::Globs { globs, .. } => globs.join(" | "),
        };
        for (text, expected) in [
            ("text", "always"),
            ("---\n---\ntext", "always"),
            ("---\npaths: src/**\n---\n", "src/**"),
            ("---\npaths: \"b.ts, src/**\"\n---\n", "b.ts | src/**"),
            ("---\npaths: [a, 'b/{c,d}']\n---\n", "a | b/{c,d}"),
            ("---\r\npaths:\r\n  - \"src/**/*.ts\"\r\n---\r\n", "src/**/*.ts"),
            ("---\npaths: *.ts\n---\n", "*.ts"),
            ("---\npaths: \"**\"\n---\n", "always"),
            ("---\npaths: []\n---\n", "always"),
            ("---\npaths: 5\n---\n", "always"),
            ("---\nglobs: src/**\n---\n", "always"),
            ("---\npaths: a\n\t- : [\n---\n", "invalid"),
            ("---\npaths: a\n", "always"),
        ] {
            assert_eq!(globs(text), expected, "{text}");
        }
    }

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
