//! Records of prompts, which make it possible to rebuild and compare them later.

use futures_util::future::BoxFuture;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use prompt::{CompiledPrompt, RebuildError, Rebuilt, blame, rebuild};
use protocol::hook::Visibility;
use protocol::prompt::{PromptBlame, PromptDiagnostic, PromptManifest, RoundManifest, RoundRequest};
use protocol::{ContentHash, Timestamp, TurnId, WorkspaceId};
use store::{BeginRound, PromptText, TurnEvent};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::domains::memory::privacy::is_hidden;
use crate::error::AgentError;
use crate::retention;
use crate::settings::AgentSettings;

/// Numbers of pruned records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub prompt_texts: u64,
    pub hook_runs: u64,
    pub manifests: u64,
    pub changes: u64,
    /// Commands whose set-aside files were removed.
    pub undone_files: u64,
    pub audit_entries: u64,
    pub jobs: u64,
    /// Memory items that had expired.
    pub expired_memories: u64,
}

impl Agent {
    /// Records the manifest of a round, and the texts of its sections if the settings keep them.
    pub fn record<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        round: u32,
        compiled: &'a CompiledPrompt,
    ) -> BoxFuture<'a, Result<(), AgentError>> {
        Box::pin(async move {
            let record = self.round_record(round, compiled, None, &[], &HashSet::new());
            Ok(self.store.begin_round(workspace_id, turn_id, owner, record).await?)
        })
    }

    /// Builds the record of a round: its prompt, request and missing tools. Texts stored with an earlier round of the
    /// turn are left out.
    pub(crate) fn round_record(
        &self,
        round: u32,
        compiled: &CompiledPrompt,
        request: Option<RoundRequest>,
        about_tools: &[PromptDiagnostic],
        stored_texts: &HashSet<ContentHash>,
    ) -> BeginRound {
        let mut manifest = PromptManifest { request, ..compiled.manifest.clone() };
        manifest.diagnostics.extend_from_slice(about_tools);
        let sections = compiled.sections.iter().filter(|_| self.settings.prompt.keep_texts);
        let texts = sections
            .filter(|section| !stored_texts.contains(&section.sha256))
            .map(|section| PromptText { sha256: section.sha256.clone(), content: section.text.to_string() });
        let manifest = RoundManifest { round, manifest };
        let events = vec![TurnEvent::ManifestKept { round }];
        let items = Vec::new();
        let hook_runs = Vec::new();
        BeginRound { manifest, texts: texts.collect(), items, hook_runs, events }
    }

    /// Returns the manifest of a round, or of the last round if `round` is `None`.
    pub fn manifest<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        round: Option<u32>,
    ) -> BoxFuture<'a, Result<PromptManifest, AgentError>> {
        Box::pin(async move {
            let manifests = self.store.manifests(workspace_id, turn_id).await?;
            let found = match round {
                Some(round) => manifests.into_iter().find(|manifest| manifest.round == round),
                None => manifests.into_iter().next_back(),
            };
            let missing = || AgentError::NoManifest { turn_id: turn_id.clone(), round };
            Ok(found.ok_or_else(missing)?.manifest)
        })
    }

    /// Returns the visibility of a hook's contributions. Those of an unregistered hook are visible to owners only.
    pub fn hook_visibility(&self, subscription_id: &str) -> Visibility {
        self.runtime.registry().visibility(subscription_id).unwrap_or(Visibility::Internal)
    }

    /// Rebuilds a past prompt byte for byte and verifies its fingerprints.
    pub fn rebuild<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        manifest: &'a PromptManifest,
    ) -> BoxFuture<'a, Result<Rebuilt, AgentError>> {
        Box::pin(async move {
            let texts = self.texts(workspace_id, &[manifest]).await?;
            match rebuild(manifest, |sha256| texts.get(sha256).cloned()) {
                Err(RebuildError::Missing { section_id, sha256 })
                    if self.store.is_purged(workspace_id, &sha256).await? =>
                {
                    Err(RebuildError::Purged { section_id, sha256 }.into())
                }
                rebuilt => Ok(rebuilt?),
            }
        })
    }

    /// Finds the first section that differs between two prompts, and the cost of that. Texts that are not stored may
    /// be passed in; texts hidden from the reader are treated as not stored.
    pub fn blame<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        before: &'a PromptManifest,
        after: &'a PromptManifest,
        given: Option<&'a CompiledPrompt>,
        reader: Option<&'a str>,
    ) -> BoxFuture<'a, Result<PromptBlame, AgentError>> {
        Box::pin(async move {
            // One query for both prompts, which mostly share their texts.
            let mut texts = self.texts(workspace_id, &[before, after]).await?;
            for section in before.sections.iter().chain(&after.sections) {
                if section.sources.iter().any(|source| is_hidden(source.owner.as_deref(), reader)) {
                    texts.remove(&section.sha256);
                }
            }
            for section in given.iter().flat_map(|compiled| &compiled.sections) {
                texts.insert(section.sha256.clone(), section.text.to_string());
            }
            Ok(blame(before, after, |sha256| texts.get(sha256).cloned()))
        })
    }

    /// Removes all records that are older than their retention period, and returns their numbers.
    pub fn prune(&self) -> BoxFuture<'_, Result<Pruned, AgentError>> {
        Box::pin(async move {
            let AgentSettings { retention, prompt, .. } = &*self.settings;
            // With `keep_texts` off, texts stored earlier are unwanted as well.
            let prompt_texts = if prompt.keep_texts { retention.prompt_texts } else { Some(Duration::ZERO) };
            let mut pruned = Pruned::default();
            // Use the clock that all gateways share. A gateway with a fast clock would remove records too early.
            let now = self.store.now();
            let ago = |age| before(now, age);
            if let Some(age) = prompt_texts {
                pruned.prompt_texts = self.store.prune_prompt_texts(None, ago(age)).await?;
            }
            if let Some(age) = retention.hook_runs {
                pruned.hook_runs = self.store.prune_hook_runs(None, ago(age)).await?;
                pruned.jobs = self.store.prune_jobs(ago(age)).await?;
            }
            if let Some(age) = retention.manifests {
                pruned.manifests = self.store.prune_manifests(None, ago(age)).await?;
            }
            if let Some(age) = retention.change_log {
                pruned.changes = self.store.prune_changes(None, ago(age)).await?;
            }
            if let (Some(age), Some(directory)) = (retention.undone_files, self.settings.set_aside.clone()) {
                pruned.undone_files = blocking(move || retention::prune(&directory, age)).await;
            }
            if let Some(age) = retention.audit {
                pruned.audit_entries = self.store.prune_audit(ago(age)).await?;
            }
            pruned.expired_memories = self.store.expire_memories(now).await?;
            Ok(pruned)
        })
    }

    async fn texts(
        &self,
        workspace_id: &WorkspaceId,
        manifests: &[&PromptManifest],
    ) -> Result<HashMap<ContentHash, String>, AgentError> {
        let sections = manifests.iter().flat_map(|manifest| &manifest.sections);
        let digests: Vec<ContentHash> = sections.map(|section| section.sha256.clone()).collect();
        Ok(self.store.prompt_texts(workspace_id, &digests).await?)
    }
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    let milliseconds = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_milliseconds(now.milliseconds().saturating_sub(milliseconds))
}
