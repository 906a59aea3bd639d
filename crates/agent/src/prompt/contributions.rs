//! Conversion of hook contributions for the compiler.

use hooks::{Contributed, Contribution, PhaseOutcome};
use prompt::ContributedSection;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptPolicy};

/// Returns the section of a contribution; `None` if it is something else.
pub(crate) fn section(contributed: &Contributed) -> Option<ContributedSection> {
    let Contribution::PromptSection(section) = &contributed.contribution else { return None };
    Some(ContributedSection {
        hook_id: contributed.hook_id.clone(),
        subscription_id: contributed.subscription_id.clone(),
        truncation: contributed.truncation,
        section: section.clone(),
    })
}

/// Returns the decision of a contribution; `None` if it is something else.
pub(crate) fn policy(contributed: &Contributed) -> Option<PromptPolicy> {
    let Contribution::Policy(policy) = &contributed.contribution else { return None };
    Some(PromptPolicy {
        hook_id: contributed.hook_id.clone(),
        key: policy.key.clone(),
        value: policy.value.clone(),
        reason: policy.reason.clone(),
        effect: policy.effect.clone(),
    })
}

/// Returns the diagnostics of hooks that ran after the compiler, including one for each section that came too late.
pub(crate) fn late_diagnostics(outcome: PhaseOutcome) -> Vec<PromptDiagnostic> {
    let mut found = outcome.diagnostics;
    found.extend(outcome.contributions.iter().filter_map(|contributed| {
        let Contribution::PromptSection(section) = &contributed.contribution else { return None };
        let message = format!(
            "hook `{}`: the section is left out: the prompt was compiled before the hook ran",
            contributed.hook_id
        );
        let late = PromptDiagnostic::new(PromptDiagnosticCode::SectionOmitted, message);
        Some(late.in_section(&section.section_id))
    }));
    found
}
