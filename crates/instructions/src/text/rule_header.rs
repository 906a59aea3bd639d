//! Front matter of rules, read as each agent reads it.
//!
//! Agents agree on valid YAML. They differ in what they make of a block that is not, which is common: people write
//! `paths: **/*.ts` and `description: Use when: it rains`.

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use crate::profile::{AlwaysKey, HeaderReading, RuleConditions};
use crate::text::header::{self, Header, MAX_BYTES, parse_as_others, yaml_options, yaml_options_with};

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

/// Reads the condition of a rule.
pub(crate) fn rule_header(header: Option<Header<'_>>, conditions: &RuleConditions) -> RuleHeader {
    let Some(header) = header else {
        return match conditions.always {
            AlwaysKey::Required(_) => RuleHeader::NotAlways,
            AlwaysKey::None | AlwaysKey::Overriding(_) => RuleHeader::Always,
        };
    };
    // YAML parsers need time and memory beyond the size of hostile input, so large headers are not parsed.
    // An oversized header is treated like an invalid one: parsing it would cost far more than any real rule does.
    let values = if header.yaml.len() <= MAX_BYTES { values(header.yaml, conditions.reading) } else { None };
    let Some(values) = values else {
        return if conditions.invalid_is_lost { RuleHeader::Invalid } else { RuleHeader::Always };
    };
    let is_always = match conditions.always {
        AlwaysKey::None => None,
        AlwaysKey::Required(key) => Some(values.get(key) == Some(&Value::Bool(true))),
        AlwaysKey::Overriding(key) => values.get(key).and_then(Value::as_bool),
    };
    match (is_always, conditions.always) {
        (Some(true), _) => return RuleHeader::Always,
        (Some(false), AlwaysKey::Overriding(_)) => return RuleHeader::NotAlways,
        _ => {}
    }
    // The first key that is present decides, even if it holds no glob.
    let value = conditions.keys.iter().find_map(|key| values.get(*key));
    let globs = value.map_or_else(Vec::new, |value| globs(value, conditions.reading));
    if !globs.iter().all(|glob| conditions.everything.contains(&glob.as_str())) {
        let description = values.get("description").and_then(Value::as_str).unwrap_or_default();
        // A description can span lines, but the agents list it in a row of a table.
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        return RuleHeader::Globs { globs, description };
    }
    if is_always.is_some() { RuleHeader::NotAlways } else { RuleHeader::Always }
}

/// Returns the values of a header. `None` if the agent finds none in it.
pub(crate) fn values(yaml: &str, reading: HeaderReading) -> Option<Value> {
    match reading {
        HeaderReading::QuotedIfInvalid => parse_as_others(yaml),
        HeaderReading::RepairedIfInvalid => lenient(yaml).or_else(|| lenient(&repaired(yaml))),
        HeaderReading::SimpleIfInvalid => Some(strict(yaml).unwrap_or_else(|| simple(yaml))),
        HeaderReading::LinesIfInvalid => Some(strict(yaml).unwrap_or_else(|| lines(yaml))),
        HeaderReading::Strict if yaml.trim().is_empty() => Some(Value::Null),
        HeaderReading::Strict => strict(yaml),
    }
}

fn strict(yaml: &str) -> Option<Value> {
    // Tabs cannot indent in YAML, but our parser accepts some.
    if yaml.lines().any(|line| line.trim_start_matches(' ').starts_with('\t') && !line.trim().is_empty()) {
        return None;
    }
    let value = serde_saphyr::from_str_with_options::<Value>(yaml, yaml_options(8_192, 32)).ok()?;
    value.is_object().then_some(value)
}

/// Parses YAML in which the last of several equal keys counts.
fn lenient(yaml: &str) -> Option<Value> {
    serde_saphyr::from_str_with_options::<Value>(
        yaml,
        yaml_options_with(8_192, 32, DuplicateKeyPolicy::LastWins),
    )
    .ok()
}

/// Quotes the values that contain a character with a meaning in YAML. Lines that end with a carriage return stay as they
/// are.
fn repaired(yaml: &str) -> String {
    let repaired = yaml.split('\n').map(|line| {
        let pair = line.split_once(':').filter(|(key, _)| {
            !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphabetic() || "_-".contains(letter))
        });
        let value = pair.map(|(_, rest)| rest).filter(|rest| rest.starts_with(char::is_whitespace));
        let (Some((key, _)), Some(value)) = (pair, value.map(str::trim_start)) else {
            return line.to_owned();
        };
        let is_quoted = |mark: char| value.starts_with(mark) && value.ends_with(mark);
        let is_list = || {
            value.starts_with('[')
                && value.ends_with(']')
                && lenient(value).is_some_and(|value| value.is_array())
        };
        if value.is_empty() || value.ends_with('\r') || is_quoted('"') || is_quoted('\'') || is_list() {
            return line.to_owned();
        }
        if value.contains(|letter: char| "{}[]*&#!|>%@`".contains(letter)) || value.contains(": ") {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            return format!("{key}: \"{value}\"");
        }
        line.to_owned()
    });
    // Tabs cannot indent in YAML, so each counts as two spaces.
    let untabbed = repaired.map(|line| {
        let tabs = line.len() - line.trim_start_matches('\t').len();
        format!("{}{}", "  ".repeat(tabs), &line[tabs..])
    });
    untabbed.collect::<Vec<_>>().join("\n")
}

/// Reads pairs of keys and values, lists under a key, and nothing else.
fn simple(yaml: &str) -> Value {
    let mut values = Map::new();
    let (mut key, mut list): (String, Option<Vec<Value>>) = (String::new(), None);
    let lines = yaml.split('\n').filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    for line in lines {
        if let Some(item) = line.strip_prefix("  - ") {
            list.get_or_insert_default().push(simple_value(item.trim()));
            continue;
        }
        if let Some(list) = list.take() {
            values.insert(std::mem::take(&mut key), Value::Array(list));
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match value.trim() {
            "" => key = name.trim().to_owned(),
            value => drop(values.insert(name.trim().to_owned(), simple_value(value))),
        }
    }
    if let Some(list) = list {
        values.insert(key, Value::Array(list));
    }
    values.retain(|_, value| !value.is_null());
    Value::Object(values)
}

fn simple_value(value: &str) -> Value {
    if let Some(quoted) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Value::String(quoted.replace("\\\"", "\"").replace("\\\\", "\\"));
    }
    match value {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        value => value.parse::<i64>().map_or_else(|_| Value::String(value.to_owned()), Value::from),
    }
}

/// Reads the value of each key from the first line that begins with it. Only the keys that hold globs are read.
fn lines(yaml: &str) -> Value {
    let mut values = Map::new();
    for line in yaml.lines() {
        let Some((key, value)) = line.split_once(": ") else { continue };
        if !["applyTo", "paths"].contains(&key) || values.contains_key(key) {
            continue;
        }
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|mark| {
            let rest = value.strip_prefix(*mark)?;
            rest.find(*mark).map(|end| &rest[..end])
        });
        let plain = value.split_once(" #").map_or(value, |(before, _)| before).trim();
        let value = quoted.unwrap_or(plain);
        if !value.is_empty() {
            values.insert(key.to_owned(), Value::String(value.to_owned()));
        }
    }
    Value::Object(values)
}

fn globs(value: &Value, reading: HeaderReading) -> Vec<String> {
    let texts = |list: &Vec<Value>| -> Vec<String> {
        list.iter().filter_map(Value::as_str).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
    };
    match (reading, value) {
        (HeaderReading::LinesIfInvalid | HeaderReading::SimpleIfInvalid, Value::Array(list)) => texts(list),
        // This agent does not split a text at commas.
        (HeaderReading::SimpleIfInvalid, Value::String(glob)) if !glob.is_empty() => vec![glob.clone()],
        (HeaderReading::SimpleIfInvalid, _) => Vec::new(),
        _ => header::globs(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::GlobMatching;
    use crate::text::header::{Fence, find};

    const PATHS: RuleConditions = RuleConditions {
        keys: &["applyTo", "paths"],
        everything: &["**"],
        always: AlwaysKey::None,
        invalid_is_lost: true,
        reading: HeaderReading::QuotedIfInvalid,
        matching: GlobMatching::WholePath,
    };

    fn read(text: &str, reading: HeaderReading) -> String {
        let conditions = RuleConditions { reading, ..PATHS };
        match rule_header(find(text, Fence::Exact), &conditions) {
            RuleHeader::Always => "always".to_owned(),
            RuleHeader::Invalid => "invalid".to_owned(),
            RuleHeader::NotAlways => "unasked".to_owned(),
            RuleHeader::Globs { globs, .. } => globs.join(" | "),
        }
    }

    #[test]
    fn conditions_of_rules() {
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
            assert_eq!(read(text, HeaderReading::QuotedIfInvalid), expected, "{text}");
        }
    }

    /// Recorded from the agents, each in the order Claude Code, Qwen Code, Copilot.
    #[test]
    fn invalid_headers_are_read_differently() {
        for (yaml, repaired, simple, lines) in [
            ("paths: src/**\npaths: lib/**", "lib/**", "lib/**", "src/**"),
            ("paths: \"src/**\nbroken: [", "\"src/**", "\"src/**", "\"src/**"),
            ("paths: **/*.ts", "**/*.ts", "**/*.ts", "**/*.ts"),
            ("paths: a, b", "a | b", "a, b", "a | b"),
            ("paths: \"src/**\" # x\nb: [", "\"src/**\" # x", "\"src/**\" # x", "src/**"),
            ("paths: src/** # x\nb: [", "src/** # x", "src/** # x", "src/**"),
            ("paths: [\" a \", \"b,c\"]", "a | b | c", " a  | b,c", " a  | b,c"),
            ("paths:\n  - a\n  - b\nc: [", "a | b", "a | b", "always"),
            ("  paths: a\nb: [", "invalid", "a", "always"),
            ("paths: a\napplyTo: b\nc: [", "b", "b", "b"),
        ] {
            let text = format!("---\n{yaml}\n---\n");
            assert_eq!(read(&text, HeaderReading::RepairedIfInvalid), repaired, "{yaml}");
            assert_eq!(read(&text, HeaderReading::SimpleIfInvalid), simple, "{yaml}");
            assert_eq!(read(&text, HeaderReading::LinesIfInvalid), lines, "{yaml}");
        }
        assert_eq!(read("---\napplyTo: null\npaths: a\n---\n", HeaderReading::LinesIfInvalid), "always");
        let crlf = "---\r\npaths: **/*.ts\r\n---\r\n";
        assert_eq!(read(crlf, HeaderReading::RepairedIfInvalid), "invalid");
    }
}
