//! The reason why the model of a thread ignored a rule.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use instructions::{AboveRoot, HomeDirectories};
use protocol::message::{TurnItem, TurnMessage};
use protocol::{ThreadId, Turn, WhyReport, WorkspaceId};
use transcripts::{Search, ThreadQuestion, ThreadRecord, ThreadTurn, WhyError};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::error::AgentError;
use crate::prompt::compare::OwnFiles;

/// Turns that are read at a time.
const PAGE: u64 = 100;
/// Newest turns of a thread that are judged.
const MAX_TURNS: usize = 2_000;

/// Question about a thread.
#[derive(Debug, Clone)]
pub struct WhyTarget {
    pub workspace_id: WorkspaceId,
    pub thread_id: ThreadId,
    /// Text of the rule, or `FILE:LINE`.
    pub rule: String,
    /// Violation to search for.
    pub search: Option<Search>,
    pub own_files: OwnFiles,
}

impl Agent {
    /// Returns the relation between a rule and what the model of a thread received.
    pub fn why(&self, target: WhyTarget) -> BoxFuture<'_, Result<Result<WhyReport, WhyError>, AgentError>> {
        Box::pin(async move {
            let WhyTarget { workspace_id, thread_id, rule, search, own_files } = target;
            let workspace = self.store.workspace(&workspace_id).await?;
            let thread = self.store.thread(&workspace_id, &thread_id).await?;
            let stored = self.all_turns(&workspace_id, &thread_id).await?;
            let cwd = stored.iter().rev().find_map(|turn| turn.cwd.clone());
            let mut turns = Vec::with_capacity(stored.len());
            for turn in &stored {
                turns.push(self.thread_turn(turn).await?);
            }
            let directory = self.directory(&workspace, cwd.as_deref()).await?;
            let mut settings = match &directory {
                Some(directory) => directory.settings.clone(),
                None => self.settings.files.clone(),
            };
            if own_files == OwnFiles::Hidden {
                settings.homes = HomeDirectories::default();
                settings.above_root = AboveRoot::Hidden;
            }
            let document = self.store.resolve_for_thread(&workspace_id, &thread_id).await?;
            let document = document.map(|resolved| resolved.doc.content);
            let root = workspace.root_path.as_ref().map(PathBuf::from);
            let record = ThreadRecord {
                id: thread_id.to_string(),
                title: thread.title,
                cwd: cwd.map(PathBuf::from).or_else(|| root.clone()),
                created_at: thread.created_at,
                turns,
            };
            blocking(move || {
                let question = ThreadQuestion {
                    rule: &rule,
                    search: search.as_ref(),
                    root: root.as_deref(),
                    document,
                    settings: &settings,
                };
                Ok(transcripts::why_thread(&record, &question))
            })
            .await
        })
    }

    /// Returns the turns of a thread, oldest first.
    async fn all_turns(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Vec<Turn>, AgentError> {
        let mut turns: Vec<Turn> = Vec::new();
        loop {
            let before = turns.last().map(|turn| turn.ordinal);
            let page = self.store.turns(workspace_id, thread_id, PAGE, before).await?;
            let is_last = (page.len() as u64) < PAGE;
            turns.extend(page);
            if is_last || turns.len() >= MAX_TURNS {
                turns.reverse();
                return Ok(turns);
            }
        }
    }

    async fn thread_turn(&self, turn: &Turn) -> Result<ThreadTurn, AgentError> {
        let items = self.store.turn_items(&turn.workspace_id, &turn.id).await?;
        let manifests = self.store.manifests(&turn.workspace_id, &turn.id).await?;
        let prompt = match manifests.last() {
            // A text that is not kept any longer leaves a gap, and no error.
            Some(last) => {
                self.rebuild(&turn.workspace_id, &last.manifest).await.ok().map(|found| found.full_text)
            }
            None => Some(String::new()),
        };
        let mut left_out_through = 0;
        let mut input_tokens = None;
        let mut messages: Vec<TurnMessage> = Vec::new();
        for stored in items {
            match stored.item {
                TurnItem::Message(message) => messages.push(message),
                TurnItem::Context(history) => left_out_through = history.left_out_through,
                TurnItem::Round(round) => input_tokens = Some(round.usage.input),
                // Trimming shortens results and leaves the reminders, which carry the instructions.
                TurnItem::Trimmed(_) | TurnItem::Request(_) => {}
            }
        }
        Ok(ThreadTurn {
            ordinal: turn.ordinal,
            at: turn.created_at,
            prompt,
            left_out_through,
            messages,
            input_tokens,
        })
    }
}
