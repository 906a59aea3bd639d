//! Guards that do not parse, and guards that can never match.

use guards::find;

use crate::document::Document;
use crate::finding::{Finding, Findings};
use crate::rule::RuleId;

pub(super) fn run(document: &Document, findings: &mut Findings<'_>) {
    for found in find(&document.text) {
        let (rule, message) = match &found.guard {
            Err(problem) => (RuleId::BrokenGuard, format!("this guard is not enforced: {}", problem.0)),
            Ok(guard) => match guard.never_matches() {
                Some(reason) => (RuleId::IdleGuard, format!("this guard never matches: {reason}")),
                None => continue,
            },
        };
        findings.push(Finding::new(rule, &document.path, message).at_line(found.line));
    }
}
