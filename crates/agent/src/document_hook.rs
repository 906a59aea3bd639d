//! The hook that brings the effective AGENTS.md document of a thread into its prompt.

use std::time::Duration;

use hooks::{
    Budget, ContributionKind, Execution, FailurePolicy, Hook, HookContext, HookPackage, HookResult,
    HookSubscription, Phase, PromptSection, Visibility,
};
use prompt::AGENTS_MD;
use protocol::limits::MAX_DOCUMENT_BYTES;
use protocol::prompt::{PromptSource, PromptSourceKind};
use store::Store;

/// The hook's id.
pub const DOCUMENT_HOOK: &str = "foreword.thread_agents_doc_prompt";
/// Its package.
const PACKAGE: &str = "foreword.prompt.agents_doc";
/// What it is about.
const DOMAIN: &str = "foreword.thread_agents_doc";
/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Its place among the hooks that contribute sections.
const PRIORITY: i32 = 600;

/// The package to register.
pub(crate) fn package(store: Store) -> HookPackage {
    let subscription = HookSubscription::new(DOCUMENT_HOOK, Phase::PrePromptCompile, DocumentHook { store })
        .execution(Execution::Blocking)
        .failure(FailurePolicy::FailClosed)
        .timeout(TIMEOUT)
        .priority(PRIORITY)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection])
        // The compiler cuts, in one place for all sections; here any document that could be saved passes.
        .budget(Budget { text_chars: MAX_DOCUMENT_BYTES, ..Budget::default() });
    HookPackage::new(PACKAGE, DOMAIN).with(subscription)
}

struct DocumentHook {
    store: Store,
}

impl Hook for DocumentHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        let Some(resolved) = self.store.resolve_for_thread(&turn.workspace_id, &turn.thread_id).await? else {
            return Ok(Vec::new());
        };
        let document = resolved.doc;
        let mut section = PromptSection::new(document.id.as_str(), AGENTS_MD, "AGENTS.md", document.content);
        section.priority = PRIORITY;
        section.sources = vec![PromptSource {
            path: Some(format!("/{}", resolved.source_path.join("/"))),
            id: Some(document.id.to_string()),
            version: Some(document.version.0),
            ..PromptSource::new(PromptSourceKind::Document, document.content_sha256.clone())
        }];
        Ok(vec![section.into()])
    }
}
