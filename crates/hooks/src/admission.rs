//! Admission of contributions: only declared kinds, each id once, within the budget.

use std::collections::HashSet;
use std::io;

use protocol::hook::{ContributionKind, FailurePolicy};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptTruncation};
use serde::Serialize;

use crate::error::RunFailure;
use crate::preview::preview;
use crate::registry::is_id;
use crate::{Contribution, FailureCause, HookSubscription};

/// Maximum number of contributions per run; a hook that returns more has failed.
pub const MAX_CONTRIBUTIONS: usize = 256;

/// Limits on the contributions of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Characters of text per contribution. A longer text is cut at the end of a line and marked.
    pub text_chars: usize,
    /// Bytes per contribution apart from such a text. This part cannot be cut, so a larger one is refused.
    pub json_bytes: usize,
    /// Bytes of all contributions of a run. A hook that returns more has failed.
    pub total_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { text_chars: 32_000, json_bytes: 512 * 1024, total_bytes: 1024 * 1024 }
    }
}

/// Longest heading of a section.
const MAX_TITLE_CHARS: usize = 200;

/// The contributions of one run that passed admission.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Admitted {
    pub(crate) accepted: Vec<(Contribution, PromptTruncation)>,
    /// Diagnostics without the name of the hook.
    pub(crate) diagnostics: Vec<PromptDiagnostic>,
    /// Number of refused contributions.
    pub(crate) refused: u32,
    /// Bytes of everything the hook returned.
    pub(crate) bytes: usize,
}

/// Admits or refuses each contribution of a run. The work is bounded by the budget, whatever the hook returned.
pub(crate) fn admit(
    subscription: &HookSubscription,
    contributions: Vec<Contribution>,
) -> Result<Admitted, RunFailure> {
    // Measure everything before looking at a single contribution. A hook that floods the turn fails as a whole and
    // costs no more than counting up to its budget.
    let bytes = total(subscription, &contributions)?;
    let mut admitted = Admitted { bytes, ..Admitted::default() };
    let mut seen: HashSet<(ContributionKind, String)> = HashSet::new();
    for mut contribution in contributions {
        match refusal(subscription, &contribution, &mut seen) {
            Some(reason) => {
                let diagnostic = refused(&contribution, &reason);
                // A fail-closed hook that loses a part of its contributions could leave out exactly the part that
                // must not be missing, so one refusal fails the run.
                if subscription.failure == FailurePolicy::FailClosed {
                    return Err(RunFailure { cause: FailureCause::Refused, preview: diagnostic.message });
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

/// Describes a refused contribution.
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

/// Returns the bytes of all contributions, or an error if they exceed the budget.
fn total(subscription: &HookSubscription, contributions: &[Contribution]) -> Result<usize, RunFailure> {
    let too_large = |what: String| RunFailure { cause: FailureCause::TooLarge, preview: what };
    if contributions.len() > MAX_CONTRIBUTIONS {
        return Err(too_large(format!(
            "it returned {} contributions, more than {MAX_CONTRIBUTIONS}",
            contributions.len()
        )));
    }
    let limit = subscription.budget.total_bytes;
    let mut total = 0;
    for contribution in contributions {
        total += bytes(contribution, limit - total)
            .ok_or_else(|| too_large(format!("it returned more than {limit} bytes")))?;
    }
    Ok(total)
}

/// Returns the reason to refuse a contribution, or `None` if it is acceptable.
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
        return Some("its id is invalid".to_owned());
    }
    if let Contribution::PromptSection(section) = contribution
        && !is_title(&section.title)
    {
        return Some(format!("its title is not one line of at most {MAX_TITLE_CHARS} characters"));
    }
    // Only the text of a section can be cut, so the limit applies to everything else in it.
    let limit = subscription.budget.json_bytes;
    let text = match contribution {
        Contribution::PromptSection(section) => section.content.len(),
        _ => 0,
    };
    if bytes(contribution, limit.saturating_add(text)).is_none() {
        return Some(format!("it has more than {limit} bytes"));
    }
    let id = contribution.id()?;
    // Remember the id only after all other checks, so that a refused contribution does not block a valid one with the
    // same id.
    let again = !seen.insert((kind, id.to_owned()));
    again.then(|| "the hook already contributed this id".to_owned())
}

fn is_title(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE_CHARS && !text.contains(char::is_control)
}

/// Cuts the text of a section that exceeds the budget.
fn fit(
    subscription: &HookSubscription,
    contribution: &mut Contribution,
    diagnostics: &mut Vec<PromptDiagnostic>,
) -> PromptTruncation {
    let limit = subscription.budget.text_chars;
    let Contribution::PromptSection(section) = contribution else { return PromptTruncation::None };
    let Some(cut) = cut(&section.content, limit) else { return PromptTruncation::None };
    section.content = cut;
    let message = format!("prompt_section `{}` was cut to {limit} characters", section.id);
    let diagnostic = PromptDiagnostic::new(PromptDiagnosticCode::SectionTruncated, message);
    diagnostics.push(diagnostic.in_section(&section.section_id));
    PromptTruncation::Hook
}

/// Cuts `text` to `limit` characters including the mark; `None` if it fits.
///
/// The cut is at the end of a line if one ends in the second half of what fits, otherwise between two characters.
pub(crate) fn cut(text: &str, limit: usize) -> Option<String> {
    // A character is at least one byte long, so this settles most texts without counting.
    if text.len() <= limit {
        return None;
    }
    let size = text.chars().count();
    if size <= limit {
        return None;
    }
    // The mark names both counts. Reserving space for the larger one twice keeps the result within the limit.
    let room = limit.saturating_sub(mark(size, size).chars().count() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(index, _)| index);
    let end = match text[..end].rfind('\n') {
        Some(line) if line >= end / 2 => line,
        _ => end,
    };
    let kept = &text[..end];
    let mark = mark(kept.chars().count(), size);
    let marked = if kept.is_empty() { mark } else { format!("{kept}\n{mark}") };
    // A budget smaller than the mark gets the beginning of the mark.
    Some(marked.chars().take(limit).collect())
}

fn mark(kept: usize, size: usize) -> String {
    format!("[foreword: {kept} of {size} characters shown; the rest exceeds the hook's budget.]")
}

/// Returns the bytes of a contribution, or `None` above `limit`. Stops counting soon after the limit.
pub(crate) fn bytes(contribution: &Contribution, limit: usize) -> Option<usize> {
    let mut count = Count { left: limit };
    match contribution {
        Contribution::Policy(policy) => count.texts([&policy.key]).and_then(|()| count.json(&policy.value)),
        Contribution::PromptSection(section) => count
            .texts([&section.id, &section.section_id, &section.title, &section.content])
            .and_then(|()| section.sources.iter().try_for_each(|source| count.json(source)))
            .and_then(|()| section.left_out.iter().try_for_each(|left_out| count.json(left_out)))
            .and_then(|()| section.diagnostics.iter().try_for_each(|diagnostic| count.json(diagnostic))),
        Contribution::ToolBundle(bundle) => {
            count.texts([&bundle.id]).and_then(|()| bundle.tools.iter().try_for_each(|tool| count.json(tool)))
        }
        Contribution::BackgroundJob(job) => count.texts([&job.kind]).and_then(|()| count.json(&job.payload)),
    }?;
    Some(limit - count.left)
}

/// A writer that counts down to a limit.
struct Count {
    left: usize,
}

impl Count {
    fn texts<const N: usize>(&mut self, texts: [&String; N]) -> Option<()> {
        for text in texts {
            self.left = self.left.checked_sub(text.len())?;
        }
        Some(())
    }

    fn json(&mut self, value: &impl Serialize) -> Option<()> {
        // Serializing into the counter avoids building a string for a value that may be far larger than the limit.
        serde_json::to_writer(self, value).ok()
    }
}

impl io::Write for Count {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(buffer.len());
        self.left = left.ok_or(io::ErrorKind::StorageFull)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{BackgroundJob, PromptSection};

    #[test]
    fn text_is_cut_at_the_end_of_a_line() {
        let text = "0123456789\n".repeat(100);
        let cut = cut(&text, 200).unwrap();
        let (kept, mark) = cut.rsplit_once('\n').unwrap();
        assert!(kept.lines().all(|line| line == "0123456789"), "{cut}");
        assert_eq!(
            mark,
            format!(
                "[foreword: {} of 1100 characters shown; the rest exceeds the hook's budget.]",
                kept.chars().count()
            )
        );
    }

    #[test]
    fn bytes_are_counted_up_to_a_limit() {
        let job = Contribution::from(BackgroundJob { kind: "ab".into(), payload: json!([1, 2]) });
        assert_eq!(bytes(&job, 100), Some(2 + "[1,2]".len()));
        assert_eq!(bytes(&job, 7), Some(7));
        assert_eq!(bytes(&job, 6), None);
        let section = Contribution::from(PromptSection::new("k", "", "", "é"));
        assert_eq!(bytes(&section, 100), Some(3));
    }

    proptest! {
        #[test]
        fn cut_text_fits_the_limit(text in "(?s).{0,400}", limit in 0_usize..300) {
            match cut(&text, limit) {
                Some(cut) => {
                    prop_assert!(text.chars().count() > limit);
                    prop_assert!(cut.chars().count() <= limit);
                }
                None => prop_assert!(text.chars().count() <= limit),
            }
        }
    }
}
