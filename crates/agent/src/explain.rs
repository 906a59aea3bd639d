//! Explanations of finished turns: everything that made up their prompts, from the store alone.

pub(crate) mod request;
pub(crate) mod rounds;
pub(crate) mod view;

use futures_util::future::BoxFuture;
use instructions::{Reminder, ReminderFile, RemovedFile};
use prompt::AGENTS_CONTEXT;
use protocol::message::{AttachedReminder, Block, TurnItem, TurnMessage};
use protocol::prompt::{PromptDiagnostic, PromptManifestSection, RoundManifest};
use protocol::turn::{
    ExplainedFile, ExplainedHistory, ExplainedSource, ExplainedTool, FileDelivery, TurnExplanation,
};
use protocol::{Turn, TurnId, WorkspaceId};
use store::{RangePart, StoredItem, TurnRange};

use crate::agent::Agent;
use crate::error::AgentError;
use crate::explain::rounds::explained_rounds;
use crate::turn::message::messages;

impl Agent {
    /// Returns the files, documents, skills, memory and hooks that made up a turn's prompt, with versions.
    pub fn explain<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<TurnExplanation, AgentError>> {
        Box::pin(async move {
            let stored = self.store.turn(workspace_id, turn_id).await?;
            let items = self.store.turn_items(workspace_id, turn_id).await?;
            let approvals = self.store.approvals(workspace_id, turn_id).await?;
            let manifests = self.store.manifests(workspace_id, turn_id).await?;
            let rounds = explained_rounds(&items, &manifests, &approvals);
            let history = sent_history(&items);
            let entries: Vec<TurnMessage> = messages(items).into_iter().map(|(entry, _)| entry).collect();
            // A turn may change its sections between rounds. The last manifest shows what led to the answer.
            let sections = manifests.last().map_or(&[][..], |last| &last.manifest.sections);
            let left_out = manifests.last().map_or(&[][..], |last| &last.manifest.left_out);
            let policies = manifests.last().map_or(&[][..], |last| &last.manifest.policies);
            let mut files = initial_files(sections);
            files.extend(self.earlier_files(&stored, history.as_ref()).await?);
            files.extend(delivered_files(&entries));
            Ok(TurnExplanation {
                turn: self.turn_view(workspace_id, turn_id).await?.turn,
                files,
                sources: sections.iter().flat_map(sources).collect(),
                left_out: left_out.to_vec(),
                policies: policies.to_vec(),
                sections: sections.to_vec(),
                diagnostics: diagnostics(&manifests),
                hooks: self.store.hook_runs(workspace_id, turn_id).await?,
                tools: tools(&entries),
                approvals,
                delegated: self.store.delegated_turns(workspace_id, turn_id).await?,
                jobs: self.store.jobs_of_turn(workspace_id, turn_id).await?,
                history,
                rounds,
            })
        })
    }

    /// Returns the files delivered by earlier turns whose messages were part of this turn's request.
    async fn earlier_files(
        &self,
        turn: &Turn,
        history: Option<&ExplainedHistory>,
    ) -> Result<Vec<ExplainedFile>, AgentError> {
        let Some(history) = history else { return Ok(Vec::new()) };
        // Use the window that was recorded. The turns before it were only in the request as a summary.
        let range = TurnRange { after: history.left_out_through, before: turn.ordinal, part: RangePart::All };
        let earlier = self.completed_turns(turn, range).await?;
        let files = earlier.iter().flat_map(|past| {
            delivered_files(&past.entries)
                .map(|file| ExplainedFile { turn_id: Some(past.id.clone()), ..file })
        });
        Ok(files.collect())
    }
}

/// Collects the diagnostics of all rounds, without duplicates.
fn diagnostics(manifests: &[RoundManifest]) -> Vec<PromptDiagnostic> {
    let mut found: Vec<PromptDiagnostic> = Vec::new();
    for diagnostic in manifests.iter().flat_map(|round| &round.manifest.diagnostics) {
        if !found.contains(diagnostic) {
            found.push(diagnostic.clone());
        }
    }
    found
}

/// Returns the history that was sent when the model was last asked.
fn sent_history(items: &[StoredItem]) -> Option<ExplainedHistory> {
    items.iter().rev().find_map(|stored| match &stored.item {
        TurnItem::Context(history) => Some(history.clone()),
        TurnItem::Message(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => None,
    })
}

/// Returns the files of the frozen start.
fn initial_files(sections: &[PromptManifestSection]) -> Vec<ExplainedFile> {
    let frozen = sections.iter().filter(|section| section.id == AGENTS_CONTEXT);
    let files = frozen.flat_map(|section| &section.sources).filter_map(|source| {
        Some(ExplainedFile {
            path: source.path.clone()?,
            delivery: FileDelivery::Initial,
            // Older manifests store an empty digest for an unknown one.
            sha256: source.sha256.clone().filter(|sha256| !sha256.as_str().is_empty()),
            mtime_ms: None,
            call_id: None,
            turn_id: None,
        })
    });
    files.collect()
}

/// Returns the files delivered or announced by messages.
fn delivered_files(entries: &[TurnMessage]) -> impl Iterator<Item = ExplainedFile> + '_ {
    entries.iter().flat_map(|entry| {
        let read = entry.reads.iter().map(|read| ExplainedFile {
            path: read.path.to_string_lossy().into_owned(),
            delivery: FileDelivery::Read,
            sha256: Some(read.sha256.clone()),
            mtime_ms: None,
            call_id: None,
            turn_id: None,
        });
        read.chain(entry.reminders.iter().flat_map(files_in_reminder)).collect::<Vec<_>>()
    })
}

/// Returns the files named by a reminder.
pub(crate) fn files_in_reminder(attached: &AttachedReminder) -> Vec<ExplainedFile> {
    let (files, removed): (&[ReminderFile], &[RemovedFile]) = match &attached.reminder {
        Reminder::AgentsResolvePaths { files, removed, .. } => (files, removed),
        Reminder::SessionResumeDiff { files, removed, .. } => (files, removed),
        _ => (&[], &[]),
    };
    let file = |path: &std::path::Path, delivery, mtime_ms, sha256| ExplainedFile {
        path: path.to_string_lossy().into_owned(),
        delivery,
        sha256,
        mtime_ms,
        call_id: attached.call_id.clone(),
        turn_id: None,
    };
    let told = files.iter().map(|told| {
        let delivery = if told.block.is_some() { FileDelivery::Inline } else { FileDelivery::Pointer };
        file(&told.path, delivery, Some(told.mtime_ms), told.sha256.clone())
    });
    let gone = removed.iter().map(|removed| file(&removed.path, FileDelivery::Removed, None, None));
    told.chain(gone).collect()
}

fn sources(section: &PromptManifestSection) -> Vec<ExplainedSource> {
    let sources = section.sources.iter().cloned();
    sources.map(|source| ExplainedSource { section_id: section.id.clone(), source }).collect()
}

pub(crate) fn tools(entries: &[TurnMessage]) -> Vec<ExplainedTool> {
    let calls = entries.iter().flat_map(|entry| entry.message.tool_calls());
    calls
        .map(|call| {
            let result =
                entries.iter().flat_map(|entry| &entry.message.blocks).find_map(|block| match block {
                    Block::ToolResult(result) if result.call_id == call.id => Some(result.is_error),
                    _ => None,
                });
            let attached = entries.iter().flat_map(|entry| &entry.reminders);
            let own = attached.filter(|attached| attached.call_id.as_ref() == Some(&call.id));
            let mut effects = entries.iter().flat_map(|entry| &entry.effects);
            let effects = effects.find(|attached| attached.call_id == call.id);
            ExplainedTool {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                is_error: result,
                reminders: own.map(|attached| attached.reminder.kind()).collect(),
                effects: effects.map(|attached| attached.effects.clone()).unwrap_or_default(),
            }
        })
        .collect()
}
