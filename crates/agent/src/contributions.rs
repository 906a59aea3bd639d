//! What hooks contributed, as the compiler takes it.

use hooks::{Contributed, PhaseOutcome, PromptSection, Truncation};
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
        let message = format!("hook {}: {}", diagnostic.hook_id, diagnostic.message);
        Diagnostic { section_id: diagnostic.section_id.clone(), ..Diagnostic::new(code, message) }
    });
    let of_hooks = outcome.remarks().map(|(contributed, remark)| Diagnostic {
        section_id: remark.section_id.clone(),
        file: remark.file.clone(),
        ..Diagnostic::new(
            DiagnosticCode::HookRemark,
            format!("hook {}: {} ({})", contributed.hook_id, remark.message, remark.code),
        )
    });
    of_runtime.chain(of_hooks).collect()
}
