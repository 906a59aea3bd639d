//! Why a turn went as it did: everything that made its prompt, from the store alone.

use instructions::{Reminder, ReminderFile};
use prompt::AGENTS_CONTEXT;
use protocol::prompt::{PromptManifest, PromptManifestSection};
use protocol::turn::{
    ExplainedFile, ExplainedHistory, ExplainedSection, ExplainedSource, ExplainedTool, FileDelivery,
    TurnExplanation,
};
use protocol::{TurnId, WorkspaceId};
use provider::Block;
use store::Turn;

use crate::entry::Entry;
use crate::error::AgentError;
use crate::history::{CONTEXT, PastTurn};
use crate::preparation::Agent;

impl Agent {
    /// The files, documents, skills, memory and hooks that made a turn's prompt, with versions.
    pub async fn explain(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<TurnExplanation, AgentError> {
        let stored = self.store.turn(workspace_id, turn_id).await?;
        let items = self.store.turn_items(workspace_id, turn_id).await?;
        let context = items.iter().rfind(|item| item.kind == CONTEXT).map(|item| item.content.clone());
        let history: Option<ExplainedHistory> = context
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| AgentError::Stored { what: "context", message: error.to_string() })?;
        let entries: Vec<Entry> = Entry::all(items)?.into_iter().map(|(entry, _)| entry).collect();
        let manifests = self.store.manifests(workspace_id, turn_id).await?;
        let rounds = u32::try_from(manifests.len()).unwrap_or(u32::MAX);
        let manifest: Option<PromptManifest> = manifests
            .into_iter()
            .next_back()
            .map(|round| serde_json::from_value(round.manifest))
            .transpose()
            .map_err(|error| AgentError::Stored { what: "manifest", message: error.to_string() })?;
        let sections = manifest.as_ref().map_or(&[][..], |manifest| &manifest.sections);
        let mut files = initial_files(sections);
        for past in self.earlier(&stored, history.as_ref()).await? {
            let told = told_files(&past.entries);
            files.extend(told.map(|file| ExplainedFile { turn_id: Some(past.id.clone()), ..file }));
        }
        files.extend(told_files(&entries));
        let hooks = self.store.hook_runs(workspace_id, turn_id).await?.into_iter().map(|run| {
            serde_json::from_value(run.record)
                .map_err(|error| AgentError::Stored { what: "hook run", message: error.to_string() })
        });
        Ok(TurnExplanation {
            turn: self.turn_view(workspace_id, turn_id).await?.turn,
            files,
            sources: sections.iter().flat_map(sources).collect(),
            sections: sections
                .iter()
                .map(|section| ExplainedSection {
                    id: section.id.clone(),
                    stability: section.stability,
                    tokens: section.tokens,
                    truncated: section.truncated,
                })
                .collect(),
            hooks: hooks.collect::<Result<_, _>>()?,
            tools: tools(&entries),
            history,
            rounds,
        })
    }

    /// The earlier turns whose messages stood in this turn's request.
    async fn earlier(
        &self,
        turn: &Turn,
        history: Option<&ExplainedHistory>,
    ) -> Result<Vec<PastTurn>, AgentError> {
        match history {
            Some(history) => self.completed_turns(turn, history.left_out_through).await,
            None => Ok(Vec::new()),
        }
    }
}

/// The files of the frozen start.
fn initial_files(sections: &[PromptManifestSection]) -> Vec<ExplainedFile> {
    let frozen = sections.iter().filter(|section| section.id == AGENTS_CONTEXT);
    let files = frozen.flat_map(|section| &section.sources).filter_map(|source| {
        Some(ExplainedFile {
            path: source.path.clone()?,
            delivery: FileDelivery::Initial,
            sha256: Some(source.sha256.clone()).filter(|sha256| !sha256.is_empty()),
            mtime_ms: None,
            call_id: None,
            turn_id: None,
        })
    });
    files.collect()
}

/// The files that messages told of.
fn told_files(entries: &[Entry]) -> impl Iterator<Item = ExplainedFile> + '_ {
    let attached = entries.iter().flat_map(|entry| &entry.reminders);
    attached.flat_map(|attached| {
        let (files, removed): (&[ReminderFile], &[std::path::PathBuf]) = match &attached.reminder {
            Reminder::AgentsResolvePaths { files, removed } => (files, removed),
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
        let told = files.iter().map(move |told| {
            let delivery = if told.block.is_some() { FileDelivery::Inline } else { FileDelivery::Pointer };
            file(&told.path, delivery, Some(told.mtime_ms), told.sha256.clone())
        });
        let gone = removed.iter().map(move |path| file(path, FileDelivery::Removed, None, None));
        told.chain(gone).collect::<Vec<_>>()
    })
}

fn sources(section: &PromptManifestSection) -> Vec<ExplainedSource> {
    let sources = section.sources.iter().cloned();
    sources.map(|source| ExplainedSource { section_id: section.id.clone(), source }).collect()
}

fn tools(entries: &[Entry]) -> Vec<ExplainedTool> {
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
            ExplainedTool {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                is_error: result,
                reminders: own.map(|attached| attached.reminder.kind()).collect(),
            }
        })
        .collect()
}
