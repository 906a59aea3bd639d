//! Parsing of a SKILL.md's front matter, tolerant of common styles.

use instructions::AppliesTo;
use instructions::header::{self, Fence, globs};
use protocol::SkillReason;
use serde_json::{Map, Value};

use crate::limits::{MAX_FRONT_MATTER_BYTES, MAX_SLUG_CHARS};

/// The front matter of a skill.
#[derive(Debug)]
pub struct SkillFrontMatter {
    /// Slug of the skill.
    pub name: String,
    /// Description as written.
    pub description: String,
    /// License.
    pub license: Option<String>,
    /// Requirements in the author's words.
    pub compatibility: Option<String>,
    /// Tools that the author expects. They grant nothing.
    pub allowed_tools: Option<String>,
    /// Globs of the paths that it applies to.
    pub paths: Vec<String>,
    /// Slugs of required skills.
    pub requires: Vec<String>,
    /// `metadata` and all unknown keys.
    pub other_keys: Map<String, Value>,
    /// Compiled globs.
    pub(crate) applies_to: Option<AppliesTo>,
    /// True if it is used only when named.
    pub(crate) is_explicit: bool,
}

/// Reason why a skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillProblem {
    pub(crate) reason: SkillReason,
    pub(crate) message: String,
}

impl SkillProblem {
    pub(crate) fn new(reason: SkillReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// Parses the front matter, and returns it with the start of the text after it. The default name is that of the folder.
pub(crate) fn read(text: &str, folder_name: &str) -> Result<(SkillFrontMatter, usize), SkillProblem> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let Some(header) = header::find(&text[mark..], Fence::Exact) else {
        let message = "it does not begin with a block between two lines `---`; begin it with `---`, `name:`, \
                       `description:` and `---`";
        return Err(SkillProblem::new(SkillReason::NoFrontMatter, message));
    };
    let bad = |message: String| SkillProblem::new(SkillReason::BadFrontMatter, message);
    let bytes = header.yaml.len();
    if bytes > MAX_FRONT_MATTER_BYTES {
        return Err(bad(format!(
            "its front matter has {bytes} bytes; at most {MAX_FRONT_MATTER_BYTES} are taken"
        )));
    }
    let values = header::parse(header.yaml).map_err(|problem| {
        let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        bad(format!("its front matter is not valid YAML: {line}{}", problem.message))
    })?;
    let mut keys = match values {
        Value::Object(keys) => keys,
        Value::Null => Map::new(),
        _ => return Err(bad("its front matter has no keys".to_owned())),
    };
    let name = match text_of(&mut keys, "name")? {
        Some(name) => name,
        None => folder_name.to_owned(),
    };
    if !is_slug(&name) {
        let message = format!(
            "`{}` is not a valid name; use 1 to {MAX_SLUG_CHARS} of `a` to `z`, `0` to `9` and `-`",
            shortened(&name)
        );
        return Err(SkillProblem::new(SkillReason::BadName, message));
    }
    let description = text_of(&mut keys, "description")?.unwrap_or_default();
    if description.is_empty() {
        let message = "it has no `description`; say in it what the skill does and when to use it";
        return Err(SkillProblem::new(SkillReason::NoDescription, message));
    }
    let paths = texts_of(&mut keys, "paths")?;
    let applies_to = (!paths.is_empty()).then(|| AppliesTo::new(paths.clone())).transpose();
    let front_matter = SkillFrontMatter {
        name,
        description,
        license: text_of(&mut keys, "license")?,
        compatibility: text_of(&mut keys, "compatibility")?,
        allowed_tools: keys.shift_remove("allowed-tools").and_then(|value| joined(&value)),
        paths,
        requires: texts_of(&mut keys, "requires")?,
        applies_to: applies_to
            .map_err(|message| bad(format!("its `paths` cannot be followed: {message}")))?,
        // Key used by other agents.
        is_explicit: keys.get("disable-model-invocation") == Some(&Value::Bool(true)),
        other_keys: keys,
    };
    Ok((front_matter, text.len() - header.body.len()))
}

/// Removes a key with a single text as its value. An unquoted number or date is accepted.
fn text_of(keys: &mut Map<String, Value>, key: &str) -> Result<Option<String>, SkillProblem> {
    let text = match keys.shift_remove(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(_) => {
            let message = format!("`{key}` in its front matter must be one text");
            return Err(SkillProblem::new(SkillReason::BadFrontMatter, message));
        }
    };
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Removes a key with a list of texts, or one text with commas.
fn texts_of(keys: &mut Map<String, Value>, key: &str) -> Result<Vec<String>, SkillProblem> {
    match keys.shift_remove(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => {
            let texts = globs(&value);
            if texts.is_empty() {
                let message = format!("`{key}` in its front matter must be a list of texts");
                return Err(SkillProblem::new(SkillReason::BadFrontMatter, message));
            }
            Ok(texts)
        }
    }
}

fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(list) => Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        _ => None,
    }
}

/// Returns true if a name can be used unescaped in a prompt and a call.
pub(crate) fn is_slug(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_SLUG_CHARS).contains(&name.len()) && name.bytes().all(is_letter)
}

/// Returns a foreign name for a message.
fn shortened(name: &str) -> String {
    let short: String = name.chars().take(MAX_SLUG_CHARS).collect();
    instructions::make_harmless(&short.escape_debug().to_string()).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match read(text, "folder") {
            Ok((found, start)) => format!("{} / {} / {}", found.name, found.description, &text[start..]),
            Err(problem) => format!("{}: {}", problem.reason, problem.message),
        }
    }

    #[test]
    fn common_styles_are_parsed() {
        for (text, expected) in [
            ("---\nname: a\ndescription: b\n---\nText", "a / b / Text"),
            ("\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\nText", "a / b / Text"),
            ("---\nname: a\ndescription: Use when: it rains\n---\n", "a / Use when: it rains / "),
            ("---\ndescription: b\n---\n", "folder / b / "),
            ("---\nname: 7\ndescription: >\n  two\n  lines\n---\n", "7 / two lines / "),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn invalid_front_matter_has_a_reason() {
        for (text, reason) in [
            ("", "no_front_matter"),
            ("# Title\n", "no_front_matter"),
            ("---\nname: a\n", "no_front_matter"),
            ("---\n- a\n---\n", "bad_front_matter"),
            ("---\nname: [a]\ndescription: b\n---\n", "bad_front_matter"),
            ("---\nname: a\nname: b\ndescription: c\n---\n", "bad_front_matter"),
            ("---\nname: a\ndescription: b\npaths: '['\n---\n", "bad_front_matter"),
            ("---\nname: a\ndescription: b\npaths: 5\n---\n", "bad_front_matter"),
            ("---\nname: A b\ndescription: b\n---\n", "bad_name"),
            ("---\nname: </AGENTS_MD>\ndescription: b\n---\n", "bad_name"),
            ("---\nname: a\u{202e}b\ndescription: b\n---\n", "bad_name"),
            ("---\nname: ../a\ndescription: b\n---\n", "bad_name"),
            ("---\nname: a\n---\nText", "no_description"),
            ("---\nname: a\ndescription: ' '\n---\nText", "no_description"),
            ("---\n---\n", "no_description"),
        ] {
            let found = check(text);
            assert!(found.starts_with(&format!("{reason}: ")), "{text}: {found}");
            assert!(!found.contains("</AGENTS_MD>") && !found.contains('\u{202e}'), "{found}");
        }
        assert!(
            check(&format!("---\nname: {}\ndescription: b\n---\n", "a".repeat(65))).starts_with("bad_name")
        );
    }

    #[test]
    fn yaml_bombs_are_rejected() {
        let mut bomb = "---\nname: a\ndescription: b\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(9);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
        }
        bomb.push_str("---\n");
        assert!(check(&bomb).starts_with("bad_front_matter: "), "{}", check(&bomb));
        let deep =
            format!("---\nname: a\ndescription: b\nx: {}{}\n---\n", "[".repeat(10_000), "]".repeat(10_000));
        assert!(check(&deep).starts_with("bad_front_matter: "));
        let long = format!("---\nname: a\ndescription: b\nx: {}\n---\n", "y".repeat(70_000));
        assert!(check(&long).starts_with("no_front_matter: "));
    }

    #[test]
    fn all_keys_are_kept() {
        let text = "---\nname: a\ndescription: b\nlicense: MIT\ncompatibility: git\nallowed-tools: Read, Bash(git:*)\n\
                    paths: src/**, *.rs\nrequires: [c, d]\nmetadata:\n  x: 1\nown: [2]\n---\n";
        let (found, _) = read(text, "f").unwrap();
        assert_eq!((found.license.as_deref(), found.compatibility.as_deref()), (Some("MIT"), Some("git")));
        assert_eq!(found.allowed_tools.as_deref(), Some("Read, Bash(git:*)"));
        assert_eq!(found.paths, ["src/**", "*.rs"]);
        assert_eq!(found.requires, ["c", "d"]);
        assert_eq!(
            Value::Object(found.other_keys),
            serde_json::json!({ "metadata": { "x": 1 }, "own": [2] })
        );
    }
}
