//! What is taken from a hook: declared kinds, each id once, within the budget.

use std::collections::HashSet;

use crate::budget::{self, MAX_CONTRIBUTIONS, Truncation};
use crate::diagnostic::Remark;
use crate::error::Fault;
use crate::identifier::is_id;
use crate::preview::preview;
use crate::{Contribution, ContributionKind, DiagnosticCode, Failure, FailureCause, HookSubscription};

/// The longest heading of a section.
const MAX_TITLE_CHARS: usize = 200;

/// What was taken of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Admitted {
    pub(crate) accepted: Vec<(Contribution, Truncation)>,
    pub(crate) remarks: Vec<Remark>,
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
                let remark = refused(&contribution, &reason);
                if subscription.failure == Failure::FailClosed {
                    return Err(Fault { cause: FailureCause::Refused, preview: remark.message });
                }
                admitted.refused += 1;
                admitted.remarks.push(remark);
            }
            None => {
                let truncation = fit(subscription, &mut contribution, &mut admitted.remarks);
                admitted.accepted.push((contribution, truncation));
            }
        }
    }
    Ok(admitted)
}

/// The remark about a contribution that is refused.
pub(crate) fn refused(contribution: &Contribution, reason: &str) -> Remark {
    let what = match contribution.id() {
        Some(id) => format!("{} `{id}`", contribution.kind()),
        None => contribution.kind().to_string(),
    };
    let code = match contribution {
        Contribution::PromptSection(_) => DiagnosticCode::SectionOmitted,
        _ => DiagnosticCode::ContributionRefused,
    };
    Remark {
        code,
        message: preview(&format!("{what} was refused: {reason}")),
        section_id: section(contribution),
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
    let most = subscription.budget.total_bytes;
    let mut total = 0;
    for contribution in contributions {
        total += budget::bytes(contribution, most - total)
            .ok_or_else(|| too_large(format!("it returned more than {most} bytes")))?;
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
    // A text is cut if it is too long; what stands beside it cannot be.
    let most = subscription.budget.json_bytes;
    let text = contribution.text().map_or(0, str::len);
    if budget::bytes(contribution, most.saturating_add(text)).is_none() {
        return Some(format!("it has more than {most} bytes"));
    }
    let id = contribution.id()?;
    let again = !seen.insert((kind, id.to_owned()));
    again.then(|| "the hook contributed that id already".to_owned())
}

fn is_title(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE_CHARS && !text.contains(char::is_control)
}

/// Cuts a text that is too long.
fn fit(
    subscription: &HookSubscription,
    contribution: &mut Contribution,
    remarks: &mut Vec<Remark>,
) -> Truncation {
    let most = subscription.budget.text_chars;
    let Some(text) = contribution.text_mut() else { return Truncation::None };
    let Some(cut) = budget::cut(text, most) else { return Truncation::None };
    *text = cut;
    let code = match contribution {
        Contribution::PromptSection(_) => DiagnosticCode::SectionTruncated,
        _ => DiagnosticCode::ContributionTruncated,
    };
    let id = contribution.id().unwrap_or_default();
    remarks.push(Remark {
        code,
        message: format!("{} `{id}` was cut to {most} characters", contribution.kind()),
        section_id: section(contribution),
    });
    Truncation::Hook
}

fn section(contribution: &Contribution) -> Option<String> {
    match contribution {
        Contribution::PromptSection(section) if is_id(&section.section_id) => {
            Some(section.section_id.clone())
        }
        _ => None,
    }
}
