//! Memory in a turn: what the turn may do with it, and what its model is told.

pub(crate) mod extraction;
pub(crate) mod privacy;
pub(crate) mod tools;

use std::sync::Arc;
use std::time::Duration;

use hooks::{
    ContributionKind, Execution, Hook, HookContext, HookPackage, HookResult, HookSubscription, Phase,
    PromptSection, TurnContext, Visibility,
};
use memory::{MAX_RECALLED, MemorySettings, Policy, QueryTerms, best, recall_text};
use prompt::MEMORY_RECALL;
use protocol::prompt::{PromptSource, PromptSourceKind};
use protocol::{MEMORY_SOURCE, MemoryItemId, MemoryScope};
use serde_json::json;
use store::{MemoryView, Recallable, Store};

use crate::domains::documents::DOCUMENT_HOOK;
use crate::prompt::prepare::Reach;
use crate::settings::AgentSettings;

/// The id of the hook that brings what is remembered.
pub const MEMORY_HOOK: &str = "foreword.memory_recall";
/// The id of the hook that decides what a turn may do with memory.
const POLICY_HOOK: &str = "foreword.memory_policy";
/// Their package.
const PACKAGE: &str = "foreword.memory";
/// What they are about.
const DOMAIN: &str = "foreword.memory";
/// How long one may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Its place among the hooks that contribute sections.
const PRIORITY: i32 = 400;
/// The category whose items are recalled whatever the message says: how somebody wants things done has few words in common
/// with what they ask for.
const ALWAYS_RECALLED: &str = "preference";
/// The policy's key.
const POLICY: &str = "memory";

/// What turns of this gateway do with memory.
pub(crate) struct MemoryDomain {
    pub(crate) settings: MemorySettings,
    pub(crate) store: Store,
}

impl MemoryDomain {
    /// None where memory is switched off: nothing is left of it then.
    pub(crate) fn new(settings: &AgentSettings, store: &Store) -> Option<Arc<Self>> {
        let settings = settings.memory;
        settings.enabled.then(|| Arc::new(Self { settings, store: store.clone() }))
    }
}

/// The package to register.
pub(crate) fn package(domain: &Arc<MemoryDomain>) -> HookPackage {
    let policy = HookSubscription::new(POLICY_HOOK, Phase::PrePolicy, PolicyHook(Arc::clone(domain)))
        .execution(Execution::Blocking)
        .timeout(TIMEOUT)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::Policy]);
    let recall = HookSubscription::new(MEMORY_HOOK, Phase::PrePromptCompile, RecallHook(Arc::clone(domain)))
        .execution(Execution::Blocking)
        .timeout(TIMEOUT)
        .priority(PRIORITY)
        // Their records have an order then, which people read.
        .after(DOCUMENT_HOOK)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection]);
    let package = HookPackage::new(PACKAGE, DOMAIN).with(policy).with(recall);
    if domain.settings.extract { package.with(extraction::subscription(Arc::clone(domain))) } else { package }
}

/// Decides once what the turn may do, so that whoever asks why finds it among the hooks that ran.
struct PolicyHook(Arc<MemoryDomain>);

impl Hook for PolicyHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let Policy { recall, remember } = Policy::of(&self.0.settings, context.turn.is_off_the_record);
        let value = json!({ "recall": recall, "remember": remember });
        Ok(vec![hooks::Policy { key: POLICY.to_owned(), value }.into()])
    }
}

/// Tells the model what was remembered, as far as the request does not say it already.
struct RecallHook(Arc<MemoryDomain>);

impl Hook for RecallHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        // Most turns have nothing to recall, and that is known from their start.
        if turn.has_memories == Some(false) || !Policy::of(&self.0.settings, turn.is_off_the_record).recall {
            return Ok(Vec::new());
        }
        let message = QueryTerms::of(turn.input.as_deref().unwrap_or_default());
        let limit = MAX_RECALLED as u64;
        let Recallable { always, found } = self
            .0
            .store
            .memories_to_recall(&view(turn), &turn.thread_id, ALWAYS_RECALLED, &message, limit)
            .await?;
        let found = best(found, &message, MAX_RECALLED);
        let items: Vec<_> = always.into_iter().chain(found).collect();
        let Some(recall) = recall_text(&items) else { return Ok(Vec::new()) };
        let mut section = PromptSection::new(MEMORY_SOURCE, MEMORY_RECALL, "Memory Recall", recall.text);
        section.priority = PRIORITY;
        let is_own =
            |id: &MemoryItemId| items.iter().any(|item| item.id == *id && item.scope == MemoryScope::User);
        // Without a digest: of a short text it would say too much once the text is forgotten.
        section.sources = recall
            .items
            .iter()
            .map(|id| PromptSource {
                id: Some(id.to_string()),
                owner: turn.actor.clone().filter(|_| is_own(id)),
                ..PromptSource::new(PromptSourceKind::Other(MEMORY_SOURCE.to_owned()), None)
            })
            .collect();
        Ok(vec![section.into()])
    }
}

/// What holds in a turn.
fn view(turn: &TurnContext) -> MemoryView {
    MemoryView {
        workspace_id: turn.workspace_id.clone(),
        owner: Reach::of_token(turn.is_bound).memory_owner(turn.actor.as_deref()).map(str::to_owned),
        thread_id: Some(turn.thread_id.clone()),
    }
}
