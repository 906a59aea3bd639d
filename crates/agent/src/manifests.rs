//! What is kept of a prompt, so that it can be shown again and held against another one.

use std::collections::HashMap;

use prompt::{CompiledPrompt, Rebuilt, blame, rebuild};
use protocol::prompt::{PromptBlame, PromptManifest};
use protocol::{ContentHash, Timestamp, TurnId, WorkspaceId};
use store::{PromptText, SaveManifest, TurnEvent};

use crate::error::AgentError;
use crate::preparation::Agent;

impl Agent {
    /// Records the manifest of a round, and the texts it names if they are to be kept.
    pub async fn record(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        round: u32,
        compiled: &CompiledPrompt,
    ) -> Result<(), AgentError> {
        if self.settings.prompt.keep_texts {
            let texts: Vec<PromptText> = compiled
                .sections
                .iter()
                .map(|section| PromptText {
                    sha256: ContentHash::from_stored(section.sha256.clone()),
                    content: section.text.to_string(),
                })
                .collect();
            self.store.put_prompt_texts(workspace_id, &texts).await?;
        }
        let manifest = serde_json::to_value(&compiled.manifest).map_err(broken)?;
        let fingerprint = compiled.manifest.fingerprints.full.clone();
        let save = SaveManifest { round, manifest, fingerprint };
        let events = vec![TurnEvent::ManifestKept { round }];
        self.store.save_manifest(workspace_id, turn_id, owner, save, events).await?;
        Ok(())
    }

    /// The manifest of a round of a turn; of the last round when none is named.
    pub async fn manifest(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        round: Option<u32>,
    ) -> Result<PromptManifest, AgentError> {
        let manifests = self.store.manifests(workspace_id, turn_id).await?;
        let found = match round {
            Some(round) => manifests.into_iter().find(|manifest| manifest.round == round),
            None => manifests.into_iter().next_back(),
        };
        let missing = || AgentError::NoManifest { turn_id: turn_id.to_string(), round };
        serde_json::from_value(found.ok_or_else(missing)?.manifest).map_err(broken)
    }

    /// A past prompt, byte for byte, proven by its fingerprints.
    pub async fn rebuild(
        &self,
        workspace_id: &WorkspaceId,
        manifest: &PromptManifest,
    ) -> Result<Rebuilt, AgentError> {
        let texts = self.texts(workspace_id, &[manifest]).await?;
        Ok(rebuild(manifest, |sha256| texts.get(sha256).cloned())?)
    }

    /// Which section first differs between two prompts, and what that costs. Texts that are not kept may be given.
    pub async fn blame(
        &self,
        workspace_id: &WorkspaceId,
        before: &PromptManifest,
        after: &PromptManifest,
        given: Option<&CompiledPrompt>,
    ) -> Result<PromptBlame, AgentError> {
        let mut texts = self.texts(workspace_id, &[before, after]).await?;
        for section in given.iter().flat_map(|compiled| &compiled.sections) {
            texts.insert(section.sha256.clone(), section.text.to_string());
        }
        Ok(blame(before, after, |sha256| texts.get(sha256).cloned()))
    }

    /// Forgets texts that have not been used for longer than they are kept, and says how many.
    pub async fn prune(&self) -> Result<u64, AgentError> {
        let settings = &self.settings.prompt;
        let age = if settings.keep_texts { settings.keep_texts_for } else { std::time::Duration::ZERO };
        let milliseconds = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::now().milliseconds().saturating_sub(milliseconds);
        Ok(self.store.prune_prompt_texts(None, Timestamp::from_milliseconds(before)).await?)
    }

    async fn texts(
        &self,
        workspace_id: &WorkspaceId,
        manifests: &[&PromptManifest],
    ) -> Result<HashMap<String, String>, AgentError> {
        let sections = manifests.iter().flat_map(|manifest| &manifest.sections);
        let digests: Vec<ContentHash> =
            sections.map(|section| ContentHash::from_stored(section.sha256.clone())).collect();
        let found = self.store.prompt_texts(workspace_id, &digests).await?;
        Ok(found.into_iter().map(|(sha256, text)| (sha256.as_str().to_owned(), text)).collect())
    }
}

fn broken(error: serde_json::Error) -> AgentError {
    AgentError::Stored { what: "manifest", message: error.to_string() }
}
