//! What hooks contributed, as the compiler takes it.

use hooks::{Contributed, Contribution, PhaseOutcome, PromptSection, Truncation};
use prompt::{ContributedSection, Diagnostic, DiagnosticCode, Source};

/// The sections, in the order of the hooks.
pub(crate) fn sections(outcome: &PhaseOutcome) -> Vec<ContributedSection> {
    outcome.sections().map(|(contributed, section)| contributed_section(contributed, section)).collect()
}

fn contributed_section(contributed: &Contributed, section: &PromptSection) -> ContributedSection {
    ContributedSection {
        section_id: section.section_id.clone(),
        title: section.title.clone(),
        content: section.content.clone(),
        priority: section.priority,
        sources: section
            .sources
            .iter()
            .map(|source| Source {
                kind: source.kind.clone(),
                path: source.path.clone(),
                id: source.id.clone(),
                version: source.version,
                sha256: source.sha256.clone(),
            })
            .collect(),
        max_chars: section.max_chars,
        already_cut: contributed.truncation == Truncation::Hook,
        hook_id: contributed.hook_id.clone(),
        subscription_id: contributed.subscription_id.clone(),
        contribution_id: section.id.clone(),
        contribution_kind: contributed.contribution.kind().name().to_owned(),
    }
}

/// What went wrong with hooks that may fail, and what hooks want to have said.
pub(crate) fn diagnostics(outcome: &PhaseOutcome) -> Vec<Diagnostic> {
    let of_runtime = outcome.diagnostics.iter().map(|diagnostic| {
        let code = match diagnostic.code {
            hooks::DiagnosticCode::HookFailed => DiagnosticCode::HookFailed,
            hooks::DiagnosticCode::HookTimedOut => DiagnosticCode::HookTimedOut,
            hooks::DiagnosticCode::SectionTruncated | hooks::DiagnosticCode::ContributionTruncated => {
                DiagnosticCode::SectionTruncated
            }
            hooks::DiagnosticCode::SectionOmitted | hooks::DiagnosticCode::ContributionRefused => {
                DiagnosticCode::SectionOmitted
            }
        };
        Diagnostic {
            section_id: diagnostic.section_id.clone(),
            ..Diagnostic::new(code, &*diagnostic.message)
        }
    });
    let of_hooks = outcome.remarks().map(|(contributed, remark)| Diagnostic {
        section_id: remark.section_id.clone(),
        file: remark.file.clone(),
        ..Diagnostic::new(
            DiagnosticCode::HookRemark,
            format!("hook `{}`: {} ({})", contributed.hook_id, remark.message, remark.code),
        )
    });
    of_runtime.chain(of_hooks).collect()
}

/// What hooks say that ran after the prompt was compiled: the same, and that nothing can be added any more.
pub(crate) fn late_diagnostics(outcome: &PhaseOutcome) -> Vec<Diagnostic> {
    let mut found = diagnostics(outcome);
    found.extend(outcome.contributions.iter().filter_map(|contributed| {
        let (what, section_id) = match &contributed.contribution {
            Contribution::PromptSection(section) => ("the section", Some(section.section_id.clone())),
            Contribution::PromptContext(_) => ("a text", None),
            _ => return None,
        };
        let message = format!(
            "hook `{}`: {what} is left out: the prompt was compiled before the hook ran",
            contributed.hook_id
        );
        Some(Diagnostic { section_id, ..Diagnostic::new(DiagnosticCode::SectionOmitted, message) })
    }));
    found
}
