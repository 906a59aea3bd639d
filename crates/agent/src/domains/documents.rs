//! The hook that contributes the effective AGENTS.md document of a thread to its prompt.

use std::time::Duration;

use hooks::{
    Budget, ContributionKind, Execution, FailurePolicy, Hook, HookContext, HookPackage, HookResult,
    HookSubscription, Phase, PromptSection, Visibility,
};
use instructions::audience_of;
use prompt::AGENTS_MD;
use protocol::limits::MAX_DOCUMENT_BYTES;
use protocol::prompt::{PromptLeftOut, PromptSource, PromptSourceKind};
use protocol::{Audience, DelegateInstructions};
use store::Store;

/// Id of the hook.
pub const DOCUMENT_HOOK: &str = "foreword.thread_agents_doc_prompt";
const PACKAGE: &str = "foreword.prompt.agents_doc";
const DOMAIN: &str = "foreword.thread_agents_doc";
const TIMEOUT: Duration = Duration::from_secs(2);
/// Position among the hooks that contribute sections.
const PRIORITY: i32 = 600;

/// Returns the package to register.
pub(crate) fn package(store: Store) -> HookPackage {
    let subscription = HookSubscription::new(DOCUMENT_HOOK, Phase::PrePromptCompile, DocumentHook { store })
        .execution(Execution::Blocking)
        // Without its document a turn would silently ignore instructions that people rely on, so it fails instead.
        .failure(FailurePolicy::FailClosed)
        .timeout(TIMEOUT)
        .priority(PRIORITY)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection])
        // The compiler cuts sections, with one rule for all. The hook's own limit admits every document that could be
        // saved.
        .budget(Budget { text_chars: MAX_DOCUMENT_BYTES, ..Budget::default() });
    HookPackage::new(PACKAGE, DOMAIN).with(subscription)
}

struct DocumentHook {
    store: Store,
}

impl Hook for DocumentHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        let scope = &turn.scope;
        let Some(resolved) = self.store.resolve_for_thread(&scope.workspace_id, &scope.thread_id).await?
        else {
            return Ok(Vec::new());
        };
        let document = resolved.doc;
        let source = PromptSource {
            path: Some(format!("/{}", resolved.source_path.join("/"))),
            id: Some(document.id.to_string()),
            version: Some(document.version.0),
            ..PromptSource::new(PromptSourceKind::Document, document.content_sha256.clone())
        };
        let (said, start) = audience_of(&document.content);
        // A delegate gets documents only on request, except for those that are written for delegates.
        let is_given = turn.audience == Audience::Main
            || turn.inherits_document
            || match turn.delegate_instructions {
                DelegateInstructions::None => false,
                DelegateInstructions::Directory => said == Some(Audience::Delegate),
                DelegateInstructions::Full => true,
            };
        let left_out = match said {
            Some(audience) if audience != turn.audience => Some("other_audience"),
            _ => (!is_given).then_some("not_inherited"),
        };
        let content = if left_out.is_none() { &document.content[start..] } else { "" };
        let mut section = PromptSection::new(document.id.as_str(), AGENTS_MD, "AGENTS.md", content);
        section.priority = PRIORITY;
        match left_out {
            None => section.sources = vec![source],
            Some(outcome) => section.left_out = vec![left_out_document(source, outcome)],
        }
        Ok(vec![section.into()])
    }
}

fn left_out_document(source: PromptSource, outcome: &str) -> PromptLeftOut {
    PromptLeftOut {
        section_id: AGENTS_MD.to_owned(),
        source,
        outcome: outcome.to_owned(),
        reason: None,
        detail: None,
    }
}
