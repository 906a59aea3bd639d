//! The YAML block between two lines of dashes that a text begins with, read the way people write it.

use std::borrow::Cow;

use serde_json::Value;

use crate::text::front_matter::describe;

/// Longest block that is read.
pub const MAX_BYTES: usize = 65_536;

/// A YAML block at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// What is between the dashes.
    pub yaml: &'a str,
    /// What is behind them.
    pub body: &'a str,
}

/// Why a block cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// What is wrong.
    pub message: String,
    /// The line of the text, counted from 1, where that is known.
    pub line: Option<usize>,
}

/// The block between two lines of dashes that a text begins with.
pub fn header(text: &str) -> Option<Header<'_>> {
    let first = text.split_inclusive('\n').next().filter(|line| line.trim_end() == "---")?;
    let mut at = first.len();
    for line in text[at..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(Header { yaml: &text[first.len()..at], body: &text[at + line.len()..] });
        }
        at += line.len();
        if at > MAX_BYTES {
            break;
        }
    }
    None
}

/// A block as values. People write sentences and globs without quotes, which is no YAML where they have a colon in them or
/// begin with `*`; such values are quoted, and the block read again. Lists and other values that span lines stay.
pub fn parse(yaml: &str) -> Result<Value, YamlProblem> {
    parse_with(yaml, &['"', '\'', '[', '{', '|', '>', '&'])
}

/// The same as other agents do it, which quote whatever has no quotes.
pub(crate) fn parse_as_others(yaml: &str) -> Option<Value> {
    parse_with(yaml, &['"', '\'']).ok()
}

/// Reads a block, and again with quotes around values that begin with none of some characters.
fn parse_with(yaml: &str, not_quoted: &[char]) -> Result<Value, YamlProblem> {
    let read = |yaml: &str| serde_saphyr::from_str_with_options::<Value>(yaml, options());
    if yaml.trim().is_empty() {
        return Ok(Value::Null);
    }
    read(yaml).or_else(|error| {
        let lines = yaml.lines().map(|line| match line.split_once(": ") {
            Some((key, value))
                if key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
                    && !value.trim_start().starts_with(not_quoted) =>
            {
                let value = value.trim().replace('\\', "\\\\").replace('"', "\\\"");
                Cow::Owned(format!("{key}: \"{value}\""))
            }
            _ => Cow::Borrowed(line),
        });
        read(&lines.collect::<Vec<_>>().join("\n")).map_err(|_| {
            let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
            // The first line of the text is the one of the dashes.
            YamlProblem {
                message: describe(&error),
                line: line.filter(|line| *line > 0).map(|line| line + 1),
            }
        })
    })
}

/// Small blocks without tricks: a bomb of aliases ends at once.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 8_192,
            max_nodes: 8_192,
            max_aliases: 16,
            max_anchors: 16,
            max_depth: 32,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 4_096,
            max_replay_stack_depth: 4,
        },
        with_snippet: false,
    }
}

/// The globs of a value: a list, or one text with commas between them.
pub fn globs(value: &Value) -> Vec<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => split_at_commas(text),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(split_at_commas).collect(),
        _ => Vec::new(),
    };
    texts.into_iter().map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}

/// Commas between braces belong to a glob.
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
    fn what_is_wrong_has_the_line_of_the_text() {
        let problem = parse("name: a\n\tdescription: b\n: [\n").unwrap_err();
        assert!(problem.line.is_some_and(|line| (2..=4).contains(&line)), "{problem:?}");
        assert!(!problem.message.contains("at line"), "{problem:?}");
    }
}
