//! What is taken from a hook: declared kinds, each id once, within the budget.

use std::collections::HashSet;

use protocol::hook::{ContributionKind, Failure};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptTruncation};

use crate::budget::{self, MAX_CONTRIBUTIONS};
use crate::error::Fault;
use crate::identifier::is_id;
use crate::preview::preview;
use crate::{Contribution, FailureCause, HookSubscription};

/// The longest heading of a section.
const MAX_TITLE_CHARS: usize = 200;

/// What was taken of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Admitted {
    pub(crate) accepted: Vec<(Contribution, PromptTruncation)>,
    /// Without the name of the hook.
    pub(crate) diagnostics: Vec<PromptDiagnostic>,
    /// How many were refused.
    pub(crate) refused: u32,
    /// The bytes of all that the hook returned.
    pub(crate) bytes: usize,
}

/// Judges what a hook returned. Costs no more than the budget, however much that was.
pub(crate) fn admit(
    subscription: &HookSubscription,
    contributions: Vec<Contribution>,
) -> Result<Admitted, Fault> {
    let bytes = total(subscription, &contributions)?;
    let mut admitted = Admitted { bytes, ..Admitted::default() };
    let mut seen: HashSet<(ContributionKind, String)> = HashSet::new();
    for mut contribution in contributions {
        match refusal(subscription, &contribution, &mut seen) {
            Some(reason) => {
                let diagnostic = refused(&contribution, &reason);
                if subscription.failure == Failure::FailClosed {
                    return Err(Fault { cause: FailureCause::Refused, preview: diagnostic.message });
                }
                admitted.refused += 1;
                admitted.diagnostics.push(diagnostic);
            }
            None => {
                let truncation = fit(subscription, &mut contribution, &mut admitted.diagnostics);
                admitted.accepted.push((contribution, truncation));
            }
        }
    }
    Ok(admitted)
}

/// Says that a contribution is refused.
pub(crate) fn refused(contribution: &Contribution, reason: &str) -> PromptDiagnostic {
    let what = match contribution.id() {
        Some(id) => format!("{} `{id}`", contribution.kind()),
        None => contribution.kind().to_string(),
    };
    let message = preview(&format!("{what} was refused: {reason}"));
    let diagnostic = PromptDiagnostic::new(PromptDiagnosticCode::SectionOmitted, message);
    match contribution {
        Contribution::PromptSection(section) if is_id(&section.section_id) => {
            diagnostic.in_section(&section.section_id)
        }
        _ => diagnostic,
    }
}

/// The bytes of all contributions, which must not be too many.
fn total(subscription: &HookSubscription, contributions: &[Contribution]) -> Result<usize, Fault> {
    let too_large = |what: String| Fault { cause: FailureCause::TooLarge, preview: what };
    if contributions.len() > MAX_CONTRIBUTIONS {
        return Err(too_large(format!(
            "it returned {} contributions, more than {MAX_CONTRIBUTIONS}",
            contributions.len()
        )));
    }
    let limit = subscription.budget.total_bytes;
    let mut total = 0;
    for contribution in contributions {
        total += budget::bytes(contribution, limit - total)
            .ok_or_else(|| too_large(format!("it returned more than {limit} bytes")))?;
    }
    Ok(total)
}

/// Why a contribution cannot be taken.
fn refusal(
    subscription: &HookSubscription,
    contribution: &Contribution,
    seen: &mut HashSet<(ContributionKind, String)>,
) -> Option<String> {
    let kind = contribution.kind();
    if !subscription.capabilities.allow(kind) {
        return Some(format!("the subscription does not declare {kind}"));
    }
    if [contribution.id(), contribution.slot()].into_iter().flatten().any(|id| !is_id(id)) {
        return Some("its id is not one".to_owned());
    }
    if let Contribution::PromptSection(section) = contribution
        && !is_title(&section.title)
    {
        return Some(format!("its title is not one line of at most {MAX_TITLE_CHARS} characters"));
    }
    // A text is cut if it is too long; what comes with it cannot be.
    let limit = subscription.budget.json_bytes;
    let text = match contribution {
        Contribution::PromptSection(section) => section.content.len(),
        _ => 0,
    };
    if budget::bytes(contribution, limit.saturating_add(text)).is_none() {
        return Some(format!("it has more than {limit} bytes"));
    }
    let id = contribution.id()?;
    let again = !seen.insert((kind, id.to_owned()));
    again.then(|| "the hook contributed that id already".to_owned())
}

fn is_title(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE_CHARS && !text.contains(char::is_control)
}

/// Cuts a section that is too long.
fn fit(
    subscription: &HookSubscription,
    contribution: &mut Contribution,
    diagnostics: &mut Vec<PromptDiagnostic>,
) -> PromptTruncation {
    let limit = subscription.budget.text_chars;
    let Contribution::PromptSection(section) = contribution else { return PromptTruncation::None };
    let Some(cut) = budget::cut(&section.content, limit) else { return PromptTruncation::None };
    section.content = cut;
    let message = format!("prompt_section `{}` was cut to {limit} characters", section.id);
    let diagnostic = PromptDiagnostic::new(PromptDiagnosticCode::SectionTruncated, message);
    diagnostics.push(diagnostic.in_section(&section.section_id));
    PromptTruncation::Hook
}
