//! YAML headers between two lines of dashes at the beginning of a text.

use std::borrow::Cow;

use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use crate::text::front_matter::describe;

/// Longest header that is read.
pub const MAX_BYTES: usize = 65_536;

/// A YAML header at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Text between the dashes.
    pub yaml: &'a str,
    /// Text after the header.
    pub body: &'a str,
}

/// Reason why a header is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// Description of the problem.
    pub message: String,
    /// Line of the text, from 1; `None` if unknown.
    pub line: Option<usize>,
}

/// Rule for the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// A line of three dashes.
    Exact,
    /// A line of three dashes without blanks, after at least one line.
    Bare,
    /// The next three dashes, even within a line; the body is trimmed at its start.
    // Some agents search for the characters instead of a line. Their profiles have to cut the text at the
    // same place.
    Loose,
}

/// Returns the block at the beginning of a text, or `None` if there is none.
pub fn find(text: &str, fence: Fence) -> Option<Header<'_>> {
    // Blanks after the dashes are allowed, but blanks before them are not: the agents accept a block only at the very
    // beginning.
    let first = text.split_inclusive('\n').next().filter(|line| line.trim_end() == "---")?;
    match fence {
        Fence::Exact => find_line(text, first.len()),
        Fence::Bare => {
            let rest = text.strip_prefix("---\n")?;
            // The end is the first such line that is the last one or is followed by another.
            let ends = rest.match_indices("\n---").map(|(at, _)| at);
            let end =
                ends.into_iter().find(|at| matches!(rest.as_bytes().get(at + 4), None | Some(b'\n')))?;
            let body = rest[end + 4..].strip_prefix('\n').unwrap_or_default();
            Some(Header { yaml: &rest[..end], body })
        }
        Fence::Loose if !first.ends_with('\n') => None,
        Fence::Loose => {
            let end = first.len() + text[first.len()..].find("---")?;
            Some(Header { yaml: &text[first.len()..end], body: text[end + 3..].trim_start() })
        }
    }
}

fn find_line(text: &str, start: usize) -> Option<Header<'_>> {
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(Header { yaml: &text[start..at], body: &text[at + line.len()..] });
        }
        at += line.len();
        if at > MAX_BYTES {
            break;
        }
    }
    None
}

/// Parses a header. Unquoted sentences and globs are accepted: if the YAML is invalid, values that do not
/// begin with a YAML indicator are quoted and the header is parsed again.
// People write `description: Use when: it rains` and `paths: *.rs`, neither of which is YAML.
pub fn parse(yaml: &str) -> Result<Value, YamlProblem> {
    parse_with(yaml, &['"', '\'', '[', '{', '|', '>', '&'])
}

/// Parses a header as other agents do, which quote every unquoted value.
pub(crate) fn parse_as_others(yaml: &str) -> Option<Value> {
    parse_with(yaml, &['"', '\'']).ok()
}

/// Parses a header. If that fails, quotes all values that begin with none of `not_quoted` and tries again.
fn parse_with(yaml: &str, not_quoted: &[char]) -> Result<Value, YamlProblem> {
    let read = |yaml: &str| serde_saphyr::from_str_with_options::<Value>(yaml, yaml_options(8_192, 32));
    if yaml.trim().is_empty() {
        return Ok(Value::Null);
    }
    read(yaml).or_else(|error| {
        let lines = yaml.lines().map(|line| match line.split_once(": ") {
            Some((key, value))
                if key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
                    // A value that begins like a list, a map or a quoted text is meant as YAML. Quoting it would hide
                    // the real error.
                    && !value.trim_start().starts_with(not_quoted) =>
            {
                let value = value.trim().replace('\\', "\\\\").replace('"', "\\\"");
                Cow::Owned(format!("{key}: \"{value}\""))
            }
            _ => Cow::Borrowed(line),
        });
        // The first error is reported, since the second one refers to quotes that the author never wrote.
        read(&lines.collect::<Vec<_>>().join("\n")).map_err(|_| {
            let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
            // Line 1 of the text is the line of dashes.
            YamlProblem {
                message: describe(&error),
                line: line.filter(|line| *line > 0).map(|line| line + 1),
            }
        })
    })
}

/// Returns the parser's limits for a block with at most `nodes` nodes, nested at most `depth` deep.
// Anybody can write a block, and a few lines of aliases can expand to gigabytes. Aliases are therefore limited far
// more strictly than nodes.
pub(crate) fn yaml_options(nodes: usize, depth: usize) -> serde_saphyr::Options {
    yaml_options_with(nodes, depth, DuplicateKeyPolicy::Error)
}

/// Like [`yaml_options`], with a rule for equal keys.
pub(crate) fn yaml_options_with(
    nodes: usize,
    depth: usize,
    duplicate_keys: DuplicateKeyPolicy,
) -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        budget: serde_saphyr::budget! {
            max_events: nodes,
            max_nodes: nodes,
            max_aliases: 16,
            max_anchors: 16,
            max_depth: depth,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 4_096,
            max_replay_stack_depth: 4,
        },
        with_snippet: false,
    }
}

/// Returns the globs of a value: a list, or one text with commas.
pub fn globs(value: &Value) -> Vec<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => split_at_commas(text),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(split_at_commas).collect(),
        _ => Vec::new(),
    };
    texts.into_iter().map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}

/// Splits at commas outside braces, which are part of a glob.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_border = |letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(is_border).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_and_globs_need_no_quotes() {
        let values = parse("description: Use when: it rains\npaths: *.rs\n").unwrap();
        assert_eq!(values["description"], "Use when: it rains");
        assert_eq!(values["paths"], "*.rs");
        let values = parse("description: a: b\npaths: [\"*.rs\", b]\n").unwrap();
        assert_eq!(values["paths"], serde_json::json!(["*.rs", "b"]));
        assert_eq!(parse(" \n"), Ok(Value::Null));
    }

    #[test]
    fn problems_have_the_line_of_the_text() {
        let problem = parse("name: a\n\tdescription: b\n: [\n").unwrap_err();
        assert!(problem.line.is_some_and(|line| (2..=4).contains(&line)), "{problem:?}");
        assert!(!problem.message.contains("at line"), "{problem:?}");
    }

    #[test]
    fn a_loose_fence_ends_at_any_dashes() {
        for (text, expected) in [
            ("---\na: b\n---\nText\n", Some("Text\n")),
            ("--- \na: b\n--- \n\n\nText", Some("Text")),
            ("---\na: x --- y\nb: c\n---\nText", Some("y\nb: c\n---\nText")),
            ("---\n---\nText", Some("Text")),
            ("---\nText\n", None),
            ("\n---\na: b\n---\nText", None),
            ("----\na: b\n---\n", None),
        ] {
            assert_eq!(find(text, Fence::Loose).map(|header| header.body), expected, "{text}");
        }
    }
}
