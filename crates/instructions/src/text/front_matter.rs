//! Foreword's own front matter: conditions under which a file applies.

use std::fmt;

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::resolve::applies_to::AppliesTo;
use crate::text::header::yaml_options;

/// Longest front matter that is read.
const MAX_BYTES: usize = 16_384;
/// Keys of Foreword's own front matter. A block without them is text.
const KEYS: [&str; 2] = ["applies_to", "audience"];

/// Audience of instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The agent that a person talks to.
    #[default]
    Main,
    /// An agent that received work from another agent.
    Delegate,
}

/// Conditions of a file. Without any, it always applies.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// Globs that make the file a rule.
    pub(crate) applies_to: Option<AppliesTo>,
    pub(crate) audience: Option<Audience>,
}

/// Problem of a block that has one of Foreword's keys. The file is then used as text, so that nothing is
/// lost.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) message: String,
    /// Line, from 1.
    pub(crate) line: usize,
}

/// Kind of text at the beginning of a file.
#[derive(Debug)]
pub(crate) enum FrontMatter {
    /// No front matter.
    None,
    /// Conditions, and the start of the text after them.
    Conditions(Conditions, usize),
    Invalid(Problem),
}

/// Parses the beginning of a file.
pub(crate) fn read(bytes: &[u8]) -> FrontMatter {
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    if !bytes[mark..].starts_with(b"---") {
        return FrontMatter::None;
    }
    let bytes = &bytes[mark..];
    let Some(block) = Block::find(bytes) else { return FrontMatter::None };
    match block.conditions() {
        Ok(Some(conditions)) => FrontMatter::Conditions(conditions, mark + block.text_start),
        Ok(None) => FrontMatter::None,
        Err(problem) => FrontMatter::Invalid(problem),
    }
}

/// Returns the audience of a text and the start of its content. A block with other conditions is text.
pub fn audience_of(text: &str) -> (Option<Audience>, usize) {
    match read(text.as_bytes()) {
        FrontMatter::Conditions(Conditions { applies_to: None, audience }, start) => (audience, start),
        FrontMatter::Conditions(..) | FrontMatter::None | FrontMatter::Invalid(_) => (None, 0),
    }
}

/// A block between two lines of dashes.
// Not `header::Header`: this block is found in bytes, may end with `...`, and is kept without its end in
// order to report that the end is missing.
struct Block<'a> {
    /// Content from the end of the first line on, so that the parser's line numbers are those of the file.
    yaml: &'a [u8],
    is_closed: bool,
    text_start: usize,
}

impl<'a> Block<'a> {
    fn find(bytes: &'a [u8]) -> Option<Self> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().filter(|line| line.trim_ascii_end() == b"---")?;
        let start = first.len() - usize::from(first.ends_with(b"\n"));
        let mut at = first.len();
        for line in lines {
            if matches!(line.trim_ascii_end(), b"---" | b"...") {
                return Some(Self { yaml: &bytes[start..at], is_closed: true, text_start: at + line.len() });
            }
            at += line.len();
            if at > MAX_BYTES {
                break;
            }
        }
        // Without an end, text after an empty line is more likely to follow a thematic break.
        let yaml = &bytes[start..at];
        let end = yaml.windows(2).position(|pair| pair == b"\n\n").unwrap_or(yaml.len());
        Some(Self { yaml: &yaml[..end], is_closed: false, text_start: 0 })
    }

    fn conditions(&self) -> Result<Option<Conditions>, Problem> {
        // Most blocks belong to other tools. This cheap test avoids parsing them, and with it any error that they may
        // contain.
        let is_ours = |key: &str| self.yaml.windows(key.len()).any(|part| part == key.as_bytes());
        if !KEYS.iter().any(|key| is_ours(key)) {
            return Ok(None);
        }
        // In an unreadable block, a line that begins with one of the keys shows that it was meant as front
        // matter.
        let invalid = |message: String, line: Option<usize>| match self.key_line() {
            Some(key_line) => Err(Problem { message, line: line.unwrap_or(key_line) }),
            None => Ok(None),
        };
        if !self.is_closed {
            return invalid(format!("no line `---` ends it within {MAX_BYTES} bytes"), None);
        }
        let Ok(yaml) = std::str::from_utf8(self.yaml) else {
            return invalid("it is not UTF-8".to_owned(), None);
        };
        let parsed = match serde_saphyr::from_str_with_options::<Option<Keys>>(yaml, yaml_options(4_096, 16))
        {
            Ok(parsed) => parsed.unwrap_or_default(),
            Err(error) => {
                let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
                return invalid(describe(&error), line.filter(|line| *line > 0));
            }
        };
        let applies_to = match parsed.applies_to.map(|globs| AppliesTo::new(globs.0)).transpose() {
            Ok(applies_to) => applies_to,
            Err(message) => return invalid(message, None),
        };
        let conditions = Conditions { applies_to, audience: parsed.audience };
        let is_empty = conditions.applies_to.is_none() && conditions.audience.is_none();
        Ok((!is_empty).then_some(conditions))
    }

    /// Returns the first line that begins with one of the keys.
    fn key_line(&self) -> Option<usize> {
        let is_key = |line: &[u8]| {
            KEYS.iter().any(|key| {
                let rest = line.strip_prefix(key.as_bytes());
                rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
            })
        };
        self.yaml.split(|byte| *byte == b'\n').position(is_key).map(|index| index + 1)
    }
}

/// Returns the parser's message without its location, which is reported separately, and without advice for
/// programmers.
pub(crate) fn describe(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    let text = text.split_once(", set DuplicateKeyPolicy").map_or(text, |(text, _)| text);
    if text.contains("budget breached") {
        return "it has more aliases, nesting or entries than are read".to_owned();
    }
    let hint = if text.contains("alias") { "; write a glob that begins with `*` in quotes" } else { "" };
    format!("{text}{hint}")
}

#[derive(Default, Deserialize)]
struct Keys {
    #[serde(default, deserialize_with = "present")]
    applies_to: Option<Globs>,
    #[serde(default, deserialize_with = "present")]
    audience: Option<Audience>,
}

/// Reads a key that must have a value if it is present.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Audience {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Audience;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`main` or `delegate`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Audience, E> {
                match name {
                    "main" => Ok(Audience::Main),
                    "delegate" => Ok(Audience::Delegate),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(Name)
    }
}

struct Globs(Vec<String>);

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Globs;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a glob or a list of globs")
            }

            fn visit_str<E>(self, glob: &str) -> Result<Globs, E> {
                Ok(Globs(vec![glob.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Globs, A::Error> {
                let mut globs = Vec::new();
                while let Some(glob) = list.next_element()? {
                    globs.push(glob);
                }
                Ok(Globs(globs))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the kind of text in short form.
    fn shown(text: &str) -> String {
        match read(text.as_bytes()) {
            FrontMatter::None => "text".to_owned(),
            FrontMatter::Conditions(conditions, start) => {
                let globs = conditions.applies_to.map_or_else(String::new, |rule| rule.describe());
                let audience =
                    conditions.audience.map_or_else(String::new, |audience| format!(" {audience:?}"));
                format!("{globs}{audience} | {}", text[start..].escape_debug())
            }
            FrontMatter::Invalid(problem) => format!("{}: {}", problem.line, problem.message),
        }
    }

    #[test]
    fn conditions_are_read_and_end_before_the_text() {
        for (text, expected) in [
            ("---\napplies_to: src/**\n---\nText\n", "`src/**` | Text\\n"),
            ("---\napplies_to: [a, \"*.ts\"]\naudience: main\n---\nText", "`a`, `*.ts` Main | Text"),
            ("---\r\napplies_to:\r\n  - a\r\n  - b\r\n---\r\nText", "`a`, `b` | Text"),
            ("\u{feff}---\naudience: delegate\n...\nText", " Delegate | Text"),
            ("---\n# why\ndescription: x\nowner: {name: y}\naudience: main\n---", " Main | "),
            ("--- \n{audience: main}\n---\t\nText", " Main | Text"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn anything_else_is_text() {
        for text in [
            "",
            "Text",
            "---",
            "---\n",
            "---\n---\n",
            "---\ndescription: for the audience\n---\nText",
            "---\nglobs: *.ts\n---\nText",
            "---\nnested:\n  applies_to: x\n---\nText",
            "----\napplies_to: x\n----\n",
            " ---\napplies_to: x\n---\n",
            "\n---\napplies_to: x\n---\n",
            "---\n\nA ruler above.\n\naudience: everybody\n",
        ] {
            assert_eq!(shown(text), "text", "{text}");
        }
    }

    #[test]
    fn problems_have_lines() {
        for (text, line, part) in [
            ("---\nx: y\napplies_to: *.ts\n---\n", 3, "in quotes"),
            ("---\napplies_to: 5\n---\n", 2, "a glob or a list of globs"),
            ("---\napplies_to:\n---\n", 2, ""),
            ("---\napplies_to: []\n---\n", 2, "no glob"),
            ("---\n\napplies_to: '['\n---\n", 3, "is not a glob"),
            ("---\naudience: everybody\n---\n", 2, "expected `main` or `delegate`"),
            ("---\naudience: [main]\n---\n", 2, "expected `main` or `delegate`"),
            ("---\naudience: main\naudience: delegate\n---\n", 3, "duplicate"),
            ("---\napplies_to: a\n: [\n---\n", 3, ""),
            ("---\napplies_to: a\nText", 2, "no line `---`"),
        ] {
            let found = shown(text);
            assert!(!found.contains("at line") && !found.contains("Policy"), "{found}");
            assert!(found.starts_with(&format!("{line}: ")) && found.contains(part), "{text}: {found}");
        }
        let FrontMatter::Invalid(_) = read(b"---\napplies_to: \xff\n---\n") else {
            panic!("it is not UTF-8")
        };
    }

    #[test]
    fn bombs_do_not_go_off() {
        let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(9);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
        }
        bomb.push_str("applies_to: *a11\n---\nText");
        assert!(matches!(read(bomb.as_bytes()), FrontMatter::Invalid(_)));
        let deep = format!("---\napplies_to: {}\n---\n", "[".repeat(8_000));
        assert!(matches!(read(deep.as_bytes()), FrontMatter::Invalid(_)));
        let long = format!("---\napplies_to: a\n{}---\nText", "x: y\n".repeat(200_000));
        assert!(matches!(read(long.as_bytes()), FrontMatter::Invalid(_)));
    }
}
