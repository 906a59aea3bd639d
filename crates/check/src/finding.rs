//! Findings and their locations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use instructions::{ContentHash, Profile};
use serde::{Serialize, Serializer};

use crate::policy::CheckPolicy;
use crate::rule::{CheckRule, RuleId, Severity};

/// A problem found by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(serialize_with = "code")]
    pub rule: RuleId,
    /// Severity after settings were applied.
    pub severity: Severity,
    /// Affected file or directory.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Description. It never quotes a secret.
    pub message: String,
    /// Affected agents; empty if all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<&'static str>,
    /// True if `--fix` can repair it.
    pub fixable: bool,
    /// Stable identifier: the same as long as the rule, the path, the message without its numbers and the text of the
    /// line are the same.
    pub fingerprint: String,
}

fn code<S: Serializer>(rule: &RuleId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.rule().code)
}

pub(crate) fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl Finding {
    pub(crate) fn new(rule: RuleId, path: &Path, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.rule().severity,
            path: path.to_owned(),
            line: None,
            message: message.into(),
            agents: Vec::new(),
            fixable: false,
            fingerprint: String::new(),
        }
    }

    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn for_agents<'a>(mut self, agents: impl IntoIterator<Item = &'a &'static Profile>) -> Self {
        self.agents = agents.into_iter().map(|agent| agent.name).collect();
        self
    }

    pub(crate) fn fixable(mut self) -> Self {
        self.fixable = true;
        self
    }

    /// Returns the definition of the rule.
    pub fn rule(&self) -> &'static CheckRule {
        self.rule.rule()
    }
}

/// Collector that drops findings disabled by settings.
pub(crate) struct Findings<'a> {
    policy: &'a CheckPolicy,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(policy: &'a CheckPolicy) -> Self {
        Self { policy, found: Vec::new() }
    }

    pub(crate) fn push(&mut self, finding: Finding) {
        if let Some(severity) = self.policy.severity(finding.rule)
            && !self.policy.ignores(&finding.path)
        {
            self.found.push(Finding { severity, ..finding });
        }
    }

    pub(crate) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// Returns the findings by path, line and rule, without duplicates.
    pub(crate) fn sorted(mut self) -> Vec<Finding> {
        let key =
            |finding: &Finding| (finding.path.clone(), finding.line, finding.rule, finding.message.clone());
        self.found.sort_by_cached_key(key);
        self.found.dedup();
        self.found
    }
}

/// Most characters of a line that its fingerprint depends on.
const MAX_LINE: usize = 1_000;

/// Sets the fingerprints of findings. `path` returns a path relative to the root, `line` the text of a line.
pub(crate) fn set_fingerprints<'a>(
    findings: &mut [Finding],
    path: impl Fn(&Path) -> String,
    mut line: impl FnMut(&Finding) -> Option<&'a str>,
) {
    let mut seen: HashMap<ContentHash, usize> = HashMap::new();
    for finding in findings {
        // Numbers in a message are mostly lines and sizes, which change without a new problem.
        let message: String =
            finding.message.chars().filter(|character| !character.is_ascii_digit()).collect();
        // The line of lost text is where the limit is reached, so that its words have nothing to do with the problem.
        let line = if finding.rule == RuleId::LostText { None } else { line(finding) };
        // A file of one long line may have thousands of findings, and each hashes its line.
        let line: String = line.unwrap_or_default().chars().take(MAX_LINE).collect();
        let line: Vec<&str> = line.split_whitespace().collect();
        let subject = [finding.rule().code, &path(&finding.path), &message, &line.join(" ")].join("\u{0}");
        let hash = ContentHash::of(&subject);
        let count = seen.entry(hash.clone()).or_default();
        finding.fingerprint = format!("{}:{count}", hash.as_str().chars().take(32).collect::<String>());
        *count += 1;
    }
}

/// Joins the titles of agents: `Codex`, `Codex and pi`, `Codex, pi and Qwen Code`.
pub(crate) fn titles(agents: &[&'static Profile]) -> String {
    list(agents.iter().map(|agent| agent.agent.title.to_owned()), "and")
}

/// Joins words as in a sentence.
pub(crate) fn list(words: impl IntoIterator<Item = String>, last: &str) -> String {
    compare::joined(&words.into_iter().collect::<Vec<_>>(), last)
}

/// Quotes untrusted text for a message: on one line, shortened, with invisible characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    const MAX: usize = 120;
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == MAX {
            shown.push('…');
            break;
        }
        if character.is_control() || instructions::is_invisible(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_sentences() {
        assert_eq!(list(["a".to_owned(), "b".to_owned(), "c".to_owned()], "and"), "a, b and c");
        assert_eq!(quoted("a\nb\u{200b}"), "`a\\u{a}b\\u{200b}`");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), 123);
    }
}
