//! Guards in the text of an instruction file.
//!
//! A guard is an HTML comment outside code:
//! `guard: (deny|ask) (command|write|read) "PATTERN" [because "TEXT"]`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobBuilder;
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::guard::{Effect, Guard, GuardKind, Matcher};
use crate::pattern::CommandPattern;

const OPEN: &str = "<!--";
const CLOSE: &str = "-->";
const WORD: &str = "guard:";
/// Longest pattern and longest reason.
const MAX_TEXT_BYTES: usize = 4_096;
/// Distance at which the rule of a guard is searched, in bytes.
const MAX_RULE_DISTANCE: usize = 1_000;
/// Longest rule that is quoted, in characters.
const MAX_RULE_CHARS: usize = 300;

/// A comment that is a guard, or should be one.
#[derive(Debug, Clone)]
pub struct FoundGuard {
    /// Line of the comment, from 1.
    pub line: usize,
    /// Bytes of the comment in the text.
    pub range: Range<usize>,
    /// The guard, or the reason why it does not parse.
    pub guard: Result<ParsedGuard, GuardProblem>,
}

/// A guard without its file.
#[derive(Debug, Clone)]
pub struct ParsedGuard {
    /// Effect on matching calls.
    pub effect: Effect,
    /// Calls that it may match.
    pub kind: GuardKind,
    /// Pattern as written.
    pub pattern: String,
    /// Reason as written.
    pub because: Option<String>,
    /// Text of the rule that it enforces.
    pub rule: String,
    matcher: Matcher,
}

/// Reason why a guard does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProblem(pub String);

impl ParsedGuard {
    /// Returns the guard of a file.
    pub(crate) fn in_file(&self, path: String, line: usize, file: &Path, directory: &Path) -> Guard {
        Guard {
            path,
            line,
            effect: self.effect,
            kind: self.kind,
            pattern: self.pattern.clone(),
            because: self.because.clone(),
            rule: self.rule.clone(),
            directory: directory.to_owned(),
            matcher: self.matcher.clone(),
            file: PathBuf::from(file),
        }
    }

    /// Returns the reason why the guard can never match, or `None` if it can.
    pub fn never_matches(&self) -> Option<&'static str> {
        match self.kind {
            GuardKind::Command => {
                let first = self.pattern.split_whitespace().next().unwrap_or_default();
                let is_operator =
                    |word: &str| matches!(word, "|" | "||" | "&&" | "&" | ";" | ">" | "<" | ">>");
                if self.pattern.split_whitespace().any(is_operator) {
                    Some("a pattern matches one simple command, which contains no `|`, `&&` or redirection")
                } else if first.contains('=') && !first.starts_with('*') {
                    Some("leading assignments are ignored, so no command begins with one")
                } else if self.pattern.contains(['"', '\'']) {
                    Some("quotes are removed before words are compared")
                } else {
                    None
                }
            }
            GuardKind::Write | GuardKind::Read => {
                if self.pattern.starts_with('/') || self.pattern.starts_with('~') {
                    Some("globs are relative to the file's directory")
                } else if self.pattern.split('/').any(|part| part == ".." || part == ".") {
                    Some("paths are compared without `.` and `..`")
                } else if self.pattern.ends_with('/') {
                    Some("a glob matches files, and none ends with a slash")
                } else {
                    None
                }
            }
        }
    }
}

/// Finds the guards of a text, in linear time.
pub fn find(text: &str) -> Vec<FoundGuard> {
    let mut found = Vec::new();
    if !text.contains(WORD) {
        return found;
    }
    let code = code(text);
    let mut code = code.iter().peekable();
    let (mut at, mut line, mut counted) = (0, 1, 0);
    while let Some(start) = text[at..].find(OPEN).map(|offset| at + offset) {
        while code.next_if(|range| range.end <= start).is_some() {}
        if let Some(range) = code.peek().filter(|range| range.contains(&start)) {
            at = range.end.max(start + OPEN.len());
            continue;
        }
        let inside = start + OPEN.len();
        // A comment that is never closed reaches to the end, as in Markdown.
        let end = text[inside..].find(CLOSE).map_or(text.len(), |offset| inside + offset);
        let range = start..(end + CLOSE.len()).min(text.len());
        at = range.end;
        if let Some(written) = text[inside..end].trim().strip_prefix(WORD) {
            line += text[counted..start].matches('\n').count();
            counted = start;
            let rule = rule(text, &range);
            let guard = parse(written.trim(), rule).map_err(GuardProblem);
            found.push(FoundGuard { line, range, guard });
        }
    }
    found
}

/// Returns the ranges of code, in order.
fn code(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, Options::empty()).into_offset_iter();
    let is_code = |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
    events.filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect()
}

/// Returns the text of the rule that a comment belongs to: the rest of its line, or else the nearest line above it.
fn rule(text: &str, comment: &Range<usize>) -> String {
    let start = text[..comment.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[comment.end..].find('\n').map_or(text.len(), |offset| comment.end + offset);
    let own = plain(&text[start..end]);
    if !own.is_empty() {
        return own;
    }
    // Guards below a rule are usually next to it. Far above there may be another subject.
    let near = text.floor_char_boundary(start.saturating_sub(MAX_RULE_DISTANCE));
    let above = without_comments(&text[near..start]);
    let above = above.lines().rev().map(plain).find(|line| !line.is_empty());
    let below = || {
        let near = text.floor_char_boundary((end + MAX_RULE_DISTANCE).min(text.len()));
        without_comments(&text[end..near]).lines().map(plain).find(|line| !line.is_empty())
    };
    above.or_else(below).unwrap_or_default()
}

/// Returns a text without comments. A comment that began before the text ends in it.
fn without_comments(text: &str) -> String {
    let begins_inside = match (text.find(CLOSE), text.find(OPEN)) {
        (Some(close), Some(open)) => close < open,
        (close, _) => close.is_some(),
    };
    let mut rest = if begins_inside { text.split_once(CLOSE).map_or("", |(_, rest)| rest) } else { text };
    let mut kept = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once(OPEN) {
        kept.push_str(before);
        rest = after.split_once(CLOSE).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// Returns a line without comments, list markers and heading marks.
fn plain(line: &str) -> String {
    let kept = without_comments(line);
    let text = kept.trim().trim_start_matches(['#', '>']).trim_start();
    let text = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    let text = match text.split_once(['.', ')']) {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest
        }
        _ => text,
    };
    text.trim().chars().filter(|letter| !letter.is_control()).take(MAX_RULE_CHARS).collect()
}

fn parse(written: &str, rule: String) -> Result<ParsedGuard, String> {
    let (effect, rest) = word(written);
    let effect = match effect {
        "deny" => Effect::Deny,
        "ask" => Effect::Ask,
        "allow" => return Err("`allow` is not possible: a guard can only restrict".to_owned()),
        "" => return Err("it has no effect: `deny` or `ask`".to_owned()),
        other => return Err(format!("`{}` is neither `deny` nor `ask`", short(other))),
    };
    let (kind, rest) = word(rest);
    let kind = match kind {
        "command" => GuardKind::Command,
        "write" => GuardKind::Write,
        "read" => GuardKind::Read,
        "" => return Err("it names no kind of call: `command`, `write` or `read`".to_owned()),
        other => return Err(format!("`{}` is none of `command`, `write` and `read`", short(other))),
    };
    let (pattern, rest) = quoted(rest, "pattern")?;
    let rest = rest.trim_start();
    let because = match rest.strip_prefix("because") {
        Some(reason) => {
            let (reason, rest) = quoted(reason, "reason")?;
            if !rest.trim().is_empty() {
                return Err(format!("unexpected text after the reason: `{}`", short(rest.trim())));
            }
            Some(reason)
        }
        None if rest.is_empty() => None,
        None => return Err(format!("unexpected text after the pattern: `{}`", short(rest))),
    };
    let matcher = match kind {
        GuardKind::Command => {
            let pattern = CommandPattern::new(&pattern).ok_or("the pattern has no words")?;
            Matcher::Command(Arc::new(pattern))
        }
        GuardKind::Write | GuardKind::Read => {
            if pattern.trim().is_empty() {
                return Err("the pattern is empty".to_owned());
            }
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            Matcher::Glob(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
        }
    };
    Ok(ParsedGuard { effect, kind, pattern, because, rule, matcher })
}

/// Splits off the first word.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|letter: char| letter.is_whitespace() || letter == '"').unwrap_or(text.len());
    text.split_at(end)
}

/// Splits off a quoted text.
fn quoted<'a>(text: &'a str, what: &str) -> Result<(String, &'a str), String> {
    let inner =
        text.trim_start().strip_prefix('"').ok_or_else(|| format!("the {what} must be in double quotes"))?;
    let mut unquoted = String::new();
    let mut letters = inner.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '"' => return Ok((unquoted, &inner[index + 1..])),
            '\\' => match letters.next() {
                Some((_, escaped @ ('"' | '\\'))) => unquoted.push(escaped),
                Some((_, other)) => unquoted.extend(['\\', other]),
                None => break,
            },
            letter => unquoted.push(letter),
        }
        if unquoted.len() > MAX_TEXT_BYTES {
            return Err(format!("the {what} has more than {MAX_TEXT_BYTES} bytes"));
        }
    }
    Err(format!("the {what} has no closing quote"))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shown = |found: &FoundGuard| match &found.guard {
            Ok(guard) => {
                let because = guard.because.as_deref().unwrap_or("-");
                let (effect, kind) = (guard.effect.word(), guard.kind.word());
                format!("{} {effect} {kind} {} {because} {}", found.line, guard.pattern, guard.rule)
            }
            Err(problem) => format!("{} {}", found.line, problem.0),
        };
        assert_eq!(find(text).iter().map(shown).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn guards_are_found_with_their_rule() {
        check(
            "# Rules\n- Use pnpm. <!-- guard: deny command \"npm *\" -->\n",
            &["2 deny command npm * - Use pnpm."],
        );
        check(
            "1. Ask first.\n<!-- guard: ask write \"db/**\" because \"it is \\\"live\\\"\" -->",
            &["2 ask write db/** it is \"live\" Ask first."],
        );
        check(
            "A rule.\n\n<!--\n  guard: deny read \"*.key\"\n-->\n<!-- guard: deny read \"*.pem\" -->",
            &["3 deny read *.key - A rule.", "6 deny read *.pem - A rule."],
        );
        check(
            "x <!-- guard: deny command \"a\" --> y <!-- guard: deny command \"b\" -->",
            &["1 deny command a - x  y", "1 deny command b - x  y"],
        );
    }

    #[test]
    fn guards_in_code_are_text() {
        check("`<!-- guard: deny command \"a\" -->`", &[]);
        check("```\n<!-- guard: deny command \"a\" -->\n```\n    <!-- guard: deny command \"b\" -->", &[]);
        check("<!-- a comment about guard: deny -->\nguard: deny command \"a\"", &[]);
    }

    #[test]
    fn broken_guards_have_a_reason() {
        for (guard, reason) in [
            ("allow command \"npm *\"", "`allow` is not possible: a guard can only restrict"),
            ("", "it has no effect: `deny` or `ask`"),
            ("forbid command \"x\"", "`forbid` is neither `deny` nor `ask`"),
            ("deny network \"x\"", "`network` is none of `command`, `write` and `read`"),
            ("deny", "it names no kind of call: `command`, `write` or `read`"),
            ("deny command npm", "the pattern must be in double quotes"),
            ("deny command \"npm", "the pattern has no closing quote"),
            ("deny command \" \"", "the pattern has no words"),
            ("deny write \"\"", "the pattern is empty"),
            ("deny write \"a{b\"", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
            ("deny command \"x\" why \"y\"", "unexpected text after the pattern: `why \"y\"`"),
            ("deny command \"x\" because y", "the reason must be in double quotes"),
            ("deny command \"x\" because \"y\" z", "unexpected text after the reason: `z`"),
        ] {
            check(&format!("<!-- guard: {guard} -->"), &[&format!("1 {reason}")]);
        }
        let long = format!("<!-- guard: deny command \"{}\" -->", "x".repeat(1_000_000));
        check(&long, &["1 the pattern has more than 4096 bytes"]);
    }

    #[test]
    fn many_guards_are_found_in_one_pass() {
        let text = "Rule. <!-- guard: deny command \"x\" -->\n".repeat(10_000);
        assert_eq!(find(&text).last().unwrap().line, 10_000);
        assert_eq!(find(&text).len(), 10_000);
        assert_eq!(find(&"<!-- guard: deny command \"x".repeat(50_000)).len(), 1);
    }
}
