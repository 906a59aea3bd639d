//! Findings that a text suppresses with a comment, as in `<!-- foreword-ignore FW008 -->`.

use std::collections::HashMap;
use std::path::Path;

use crate::finding::Finding;
use crate::project::Project;
use crate::rule::{CheckRule, RuleId};

/// Word that begins such a comment.
const WORD: &str = "foreword-ignore";

/// A comment that suppresses findings.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    /// Line that it begins in, from 1.
    line: usize,
    rules: Vec<RuleId>,
    /// Words in the place of a rule that are none.
    unknown: Vec<String>,
}

/// Outcome of applying the comments of a project.
pub(crate) struct Suppressed {
    pub(crate) findings: Vec<Finding>,
    /// Number of suppressed findings.
    pub(crate) count: usize,
    /// Descriptions of comments without an effect.
    pub(crate) notes: Vec<String>,
}

/// Removes the findings that comments suppress: those in the line of a comment or in the line below. A finding about a
/// whole file counts as one in its first line.
pub(crate) fn apply(project: &Project, findings: Vec<Finding>) -> Suppressed {
    let before = findings.len();
    let with_comments = project.documents.iter().filter(|document| document.text.contains(WORD));
    let comments: HashMap<&Path, Vec<Comment>> =
        with_comments.map(|document| (&*document.path, comments(&document.text))).collect();
    let is_suppressed = |finding: &Finding| {
        let line = finding.line.unwrap_or(1);
        let is_about = |comment: &Comment| {
            (comment.line == line || comment.line + 1 == line) && comment.rules.contains(&finding.rule)
        };
        comments.get(&*finding.path).is_some_and(|comments| comments.iter().any(is_about))
    };
    let findings: Vec<Finding> = findings.into_iter().filter(|finding| !is_suppressed(finding)).collect();
    let mut notes: Vec<String> =
        comments.iter().flat_map(|(path, comments)| notes_about(path, comments, project)).collect();
    notes.sort();
    Suppressed { count: before - findings.len(), findings, notes }
}

fn notes_about(path: &Path, comments: &[Comment], project: &Project) -> Vec<String> {
    if project.document(path).is_none_or(|document| document.is_alias) {
        return Vec::new();
    }
    let without_effect = |comment: &&Comment| comment.rules.is_empty() || !comment.unknown.is_empty();
    let comments = comments.iter().filter(without_effect);
    comments
        .map(|comment| {
            let place = format!("{}, line {}", project.shown(path), comment.line);
            match comment.unknown.first() {
                Some(word) => {
                    format!("{place}: {WORD} names {}, which is not a rule", crate::finding::quoted(word))
                }
                None => format!("{place}: {WORD} names no rule"),
            }
        })
        .collect()
}

/// Returns the comments of a text.
fn comments(text: &str) -> Vec<Comment> {
    let mut comments = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some((_, comment)) = rest.split_once("<!--") {
            let (inside, after) = comment.split_once("-->").unwrap_or((comment, ""));
            rest = after;
            let Some(named) = inside.trim().strip_prefix(WORD) else { continue };
            // A reason may follow behind a colon, as in `FW008: it is planned`.
            let named = named.trim_start_matches(':').split(':').next().unwrap_or_default();
            let words = named.split([' ', ',', '\t']).filter(|word| !word.is_empty());
            let (known, unknown): (Vec<_>, Vec<_>) =
                words.map(|word| (word, CheckRule::find(word))).partition(|(_, rule)| rule.is_some());
            comments.push(Comment {
                line: number + 1,
                rules: known.into_iter().filter_map(|(_, rule)| Some(rule?.id)).collect(),
                unknown: unknown.into_iter().map(|(word, _)| word.to_owned()).collect(),
            });
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_rules_by_code_and_name() {
        let text = "a <!-- foreword-ignore FW008, test-commands --> b\n<!--foreword-ignore FW008: planned-->\n<!-- other -->\n";
        let found = comments(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].rules, [RuleId::MissingPath, RuleId::TestCommands]);
        assert_eq!((found[1].line, found[1].rules.as_slice()), (2, [RuleId::MissingPath].as_slice()));
        assert_eq!(comments("<!-- foreword-ignore FW999 -->")[0].unknown, ["FW999"]);
        assert!(comments("<!-- foreword-ignore -->")[0].rules.is_empty());
        assert_eq!(comments("<!-- foreword-ignore FW008")[0].rules, [RuleId::MissingPath], "not closed");
    }
}
