//! What is taken from a hook: declared kinds, each id once, within the budget.

use std::collections::HashSet;
use std::io;

use protocol::hook::{ContributionKind, FailurePolicy};
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptTruncation};
use serde::Serialize;

use crate::error::RunFailure;
use crate::preview::preview;
use crate::registry::is_id;
use crate::{Contribution, FailureCause, HookSubscription};

/// The most contributions of one run; a hook that returns more has failed.
pub const MAX_CONTRIBUTIONS: usize = 256;

/// How much is taken from one run of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Characters of the text of one contribution. A longer text is cut at the end of a line, with a mark.
    pub text_chars: usize,
    /// Bytes of one contribution apart from such a text, which cannot be cut. A larger one is refused.
    pub json_bytes: usize,
    /// Bytes of all contributions of a run. A hook that returns more has failed.
    pub total_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { text_chars: 32_000, json_bytes: 512 * 1024, total_bytes: 1024 * 1024 }
    }
}

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
) -> Result<Admitted, RunFailure> {
    let bytes = total(subscription, &contributions)?;
    let mut admitted = Admitted { bytes, ..Admitted::default() };
    let mut seen: HashSet<(ContributionKind, String)> = HashSet::new();
    for mut contribution in contributions {
        match refusal(subscription, &contribution, &mut seen) {
            Some(reason) => {
                let diagnostic = refused(&contribution, &reason);
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
    if bytes(contribution, limit.saturating_add(text)).is_none() {
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
    let Some(cut) = cut(&section.content, limit) else { return PromptTruncation::None };
    section.content = cut;
    let message = format!("prompt_section `{}` was cut to {limit} characters", section.id);
    let diagnostic = PromptDiagnostic::new(PromptDiagnosticCode::SectionTruncated, message);
    diagnostics.push(diagnostic.in_section(&section.section_id));
    PromptTruncation::Hook
}

/// Cuts a text to a number of characters, its mark included; `None` if it fits.
///
/// The cut is at the end of a line if one ends in the second half of what fits, else between two characters.
pub(crate) fn cut(text: &str, limit: usize) -> Option<String> {
    // A character has at least a byte, so most texts need not be counted.
    if text.len() <= limit {
        return None;
    }
    let size = text.chars().count();
    if size <= limit {
        return None;
    }
    // The number of characters shown is never longer than the number of all.
    let room = limit.saturating_sub(mark(size, size).chars().count() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(index, _)| index);
    let end = match text[..end].rfind('\n') {
        Some(line) if line >= end / 2 => line,
        _ => end,
    };
    let kept = &text[..end];
    let mark = mark(kept.chars().count(), size);
    let marked = if kept.is_empty() { mark } else { format!("{kept}\n{mark}") };
    // A budget smaller than the mark shows as much of the mark as fits.
    Some(marked.chars().take(limit).collect())
}

fn mark(kept: usize, size: usize) -> String {
    format!("[foreword: {kept} of {size} characters shown; the rest exceeds the hook's budget.]")
}

/// The bytes of a contribution, or `None` if there are more than `most`; never looks at much more than that.
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

/// Counts down to a limit.
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
    fn a_text_is_cut_at_the_end_of_a_line() {
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
        fn what_is_cut_fits(text in "(?s).{0,400}", limit in 0_usize..300) {
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
