//! Memory in a turn: the policy hook, the recall hook, and the tools.

pub(crate) mod extraction;
pub(crate) mod privacy;
pub(crate) mod tools;

use std::sync::Arc;
use std::time::Duration;

use hooks::{
    ContributionKind, Execution, Hook, HookContext, HookPackage, HookResult, HookSubscription, Phase,
    PromptSection, Visibility,
};
use memory::{MAX_RECALLED, MemorySettings, Policy, QueryTerms, best, recall_text};
use prompt::MEMORY_RECALL;
use protocol::prompt::{PromptSource, PromptSourceKind};
use protocol::{Audience, MEMORY_SOURCE, MemoryItemId, MemoryScope, TurnScope};
use serde_json::json;
use store::{MemoryView, Recallable, Store};

use crate::domains::documents::DOCUMENT_HOOK;
use crate::settings::AgentSettings;

/// Id of the recall hook.
pub const MEMORY_HOOK: &str = "foreword.memory_recall";
/// Id of the policy hook.
const POLICY_HOOK: &str = "foreword.memory_policy";
const PACKAGE: &str = "foreword.memory";
const DOMAIN: &str = "foreword.memory";
const TIMEOUT: Duration = Duration::from_secs(2);
/// Position among the hooks that contribute sections.
const PRIORITY: i32 = 400;
/// Category whose items are always recalled. A preference about how to work shares few words with the request it
/// applies to, so a search would not find it.
const ALWAYS_RECALLED: &str = "preference";
/// Key of the policy.
const POLICY: &str = "memory";

/// Memory of this gateway: its settings and its store.
pub(crate) struct MemoryDomain {
    pub(crate) settings: MemorySettings,
    pub(crate) store: Store,
}

impl MemoryDomain {
    /// Returns `None` if memory is disabled, which removes its hooks and tools.
    pub(crate) fn new(settings: &AgentSettings, store: &Store) -> Option<Arc<Self>> {
        let settings = settings.memory;
        settings.enabled.then(|| Arc::new(Self { settings, store: store.clone() }))
    }
}

/// Returns the package to register.
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
        // The dependency only fixes the order of their records, which people read.
        .after(DOCUMENT_HOOK)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection]);
    let package = HookPackage::new(PACKAGE, DOMAIN).with(policy).with(recall);
    if domain.settings.extract { package.with(extraction::subscription(Arc::clone(domain))) } else { package }
}

/// Decides once what the turn may do, and leaves the decision in the records of hooks.
struct PolicyHook(Arc<MemoryDomain>);

impl Hook for PolicyHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        let phrase = turn.scope.off_the_record.as_deref();
        let Policy { recall, remember } = Policy::of(&self.0.settings, phrase.is_some());
        let recall = recall && turn.audience == Audience::Main;
        let mut value = json!({ "recall": recall, "remember": remember });
        let mut reasons = Vec::new();
        let mut effects = Vec::new();
        if let (Some(phrase), Some(value)) = (phrase, value.as_object_mut()) {
            value.insert("phrase".to_owned(), phrase.into());
            let writer = match turn.audience {
                Audience::Main => "the user's message contains",
                Audience::Delegate => "the user's message, for which this turn works, contains",
            };
            reasons.push(format!("{writer} \"{phrase}\""));
            let extraction =
                if self.0.settings.extract { ", and nothing is extracted after the turn" } else { "" };
            effects.push(format!("`{}` is not offered{extraction}", tools::REMEMBER));
        }
        if !recall {
            reasons.push("it works for another agent".to_owned());
            effects.push("nothing is recalled into its prompt".to_owned());
        }
        let joined = |texts: Vec<String>| (!texts.is_empty()).then(|| texts.join("; "));
        let policy = hooks::Policy {
            reason: joined(reasons),
            effect: joined(effects),
            ..hooks::Policy::new(POLICY, value)
        };
        Ok(vec![policy.into()])
    }
}

/// Contributes remembered items that the request does not contain yet.
struct RecallHook(Arc<MemoryDomain>);

impl Hook for RecallHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let scope = &context.turn.scope;
        // Most turns have nothing to recall, and their start has already found that out.
        let is_recalled = Policy::of(&self.0.settings, scope.off_the_record.is_some()).recall;
        // What the user told one agent is not for the agents that work for it, unless the goal contains it.
        if scope.has_memories == Some(false) || !is_recalled || context.turn.audience == Audience::Delegate {
            return Ok(Vec::new());
        }
        let message = QueryTerms::of(scope.input.as_deref().unwrap_or_default());
        let limit = MAX_RECALLED as u64;
        let Recallable { always, found } = self
            .0
            .store
            .memories_to_recall(&view(scope), &scope.thread_id, ALWAYS_RECALLED, &message, limit)
            .await?;
        let found = best(found, &message, MAX_RECALLED);
        let items: Vec<_> = always.into_iter().chain(found).collect();
        let Some(recall) = recall_text(&items) else { return Ok(Vec::new()) };
        let mut section = PromptSection::new(MEMORY_SOURCE, MEMORY_RECALL, "Memory Recall", recall.text);
        section.priority = PRIORITY;
        let is_own =
            |id: &MemoryItemId| items.iter().any(|item| item.id == *id && item.scope == MemoryScope::User);
        // Leave out the digest: it would still identify a short text after the text is forgotten.
        section.sources = recall
            .items
            .iter()
            .map(|id| PromptSource {
                id: Some(id.to_string()),
                owner: scope.actor.clone().filter(|_| is_own(id)),
                ..PromptSource::new(PromptSourceKind::Other(MEMORY_SOURCE.to_owned()), None)
            })
            .collect();
        Ok(vec![section.into()])
    }
}

/// Returns the memory that is visible in a turn.
pub(crate) fn view(scope: &TurnScope) -> MemoryView {
    MemoryView {
        workspace_id: scope.workspace_id.clone(),
        owner: scope.memory_owner().map(str::to_owned),
        thread_id: Some(scope.thread_id.clone()),
    }
}
