//! What hooks contributed, as the compiler takes it.

use hooks::{Contributed, Contribution, PhaseOutcome};
use prompt::ContributedSection;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode};

/// The section, if it is one.
pub(crate) fn section(contributed: &Contributed) -> Option<ContributedSection> {
    let Contribution::PromptSection(section) = &contributed.contribution else { return None };
    Some(ContributedSection {
        hook_id: contributed.hook_id.clone(),
        subscription_id: contributed.subscription_id.clone(),
        truncation: contributed.truncation,
        section: section.clone(),
    })
}

/// What hooks say that ran after the prompt was compiled, and that nothing can be added any more.
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
