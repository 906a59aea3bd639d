//! What a turn needs of the store, in as few statements as it takes: three transactions and eighteen statements for a
//! question and its answer.
//!
//! The start is written by [`Store::create_turn`], before it is answered; the round's proof by [`Store::begin_round`],
//! before a model is asked; the answer with the end, by [`Store::finish_turn`].

use futures_util::future::BoxFuture;
use protocol::hook::HookRun;
use protocol::message::TurnItem;
use protocol::prompt::RoundManifest;
use protocol::{ErrorSubject, Thread, ThreadId, TurnId, Workspace, WorkspaceId};

use crate::column::values;
use crate::manifest::Inserted;
use crate::on::{Columns, On};
use crate::prompt_text::PromptText;
use crate::thread::{read_thread, thread_columns};
use crate::thread_context::{self, ThreadContext};
use crate::turn_event::TurnEvent;
use crate::turn_item::{RangePart, StoredItem, TurnRange};
use crate::workspace::{read_workspace, workspace_columns};
use crate::{Store, StoreError, hook_run, manifest, memory_use, prompt_text, turn_item};

/// What a turn is about.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSubject {
    pub workspace: Workspace,
    /// An archived one too.
    pub thread: Thread,
}

/// What is sent of a thread's earlier turns.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredHistory {
    /// Which turns are left out, and what stands for them.
    pub context: Option<ThreadContext>,
    /// The items of the newest completed turns that are not, each with the ordinal of its turn, in order.
    pub items: Vec<(u64, StoredItem)>,
}

/// What is kept of a round before a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginRound {
    /// The hooks that ran since the round before.
    pub hook_runs: Vec<HookRun>,
    /// Items that open the turn, or go between its rounds.
    pub items: Vec<TurnItem>,
    /// The texts that the manifest names, and that no earlier round of the turn has brought.
    pub texts: Vec<PromptText>,
    pub manifest: RoundManifest,
    pub events: Vec<TurnEvent>,
}

fn read_subject(mut row: Columns<'_>) -> Result<TurnSubject, StoreError> {
    Ok(TurnSubject { workspace: read_workspace(&mut row)?, thread: read_thread(&mut row)? })
}

impl Store {
    /// A workspace, one of its threads, and where it is. Not its session: until the turn is written, another may end and
    /// save a later one.
    pub fn turn_subject<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<TurnSubject, StoreError>> {
        Box::pin(async move {
            const SUBJECT: &str = concat!(
                "SELECT ",
                workspace_columns!(),
                ", ",
                thread_columns!(),
                " FROM workspace w JOIN thread t ON t.workspace_id = w.id
            LEFT JOIN thread_placement p ON p.thread_id = t.id
            WHERE w.id = $1 AND t.id = $2"
            );
            let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
            self.read(async move |on: &mut On<'_>| {
                match on.one_by_key(SUBJECT, values![&workspace_id, &thread_id], read_subject).await? {
                    Some(subject) => Ok(subject),
                    None => Err(on.missing(&workspace_id, ErrorSubject::Thread, &thread_id).await),
                }
            })
            .await
        })
    }

    /// What can be sent of the turns before an ordinal, of one moment: the newest `max_turns` that completed.
    pub fn stored_history<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        before: u64,
        max_turns: u64,
    ) -> BoxFuture<'a, Result<StoredHistory, StoreError>> {
        Box::pin(async move {
            let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
            self.read_snapshot(async move |on: &mut On<'_>| {
                let context = thread_context::find(on, &workspace_id, &thread_id).await?;
                let after = context.as_ref().map_or(0, |context| context.through);
                let range = TurnRange { after, before, part: RangePart::Newest(max_turns) };
                let items = turn_item::completed_items(on, &workspace_id, &thread_id, range).await?;
                Ok(StoredHistory { context, items })
            })
            .await
        })
    }

    /// Keeps what a round of a turn that `owner` runs begins with, in one transaction: all of it, or nothing.
    ///
    /// A round has one manifest: beginning it again with the same one changes nothing, another one is refused.
    pub fn begin_round<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        round: BeginRound,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let BeginRound { hook_runs, items, texts, manifest, events } = round;
            for run in &hook_runs {
                if run.workspace_id.as_ref() != Some(workspace_id) || run.turn_id.as_ref() != Some(turn_id) {
                    return Err(StoreError::invalid("hook_runs", format!("must belong to turn `{turn_id}`")));
                }
            }
            let (hook_runs, items) = (hook_run::prepare(hook_runs)?, turn_item::prepare(&items)?);
            let uses = memory_use::of_manifest(&manifest.manifest);
            let (manifest, texts) = (manifest::prepare(manifest)?, prompt_text::in_order(&texts)?);
            let (workspace, turn) = (workspace_id.clone(), turn_id.clone());
            self.write_turn(workspace_id, turn_id, owner, events, async move |on: &mut On<'_>| {
                if manifest::insert(on, &workspace, &turn, &manifest).await? == Inserted::Before {
                    on.discard();
                    return Ok(());
                }
                prompt_text::put(on, &workspace, &texts).await?;
                hook_run::insert(on, &hook_runs).await?;
                turn_item::insert(on, &workspace, &turn, &items).await?;
                // Last, because what was forgotten meanwhile is taken out of all that is there by now.
                memory_use::record(on, &workspace, &turn, &uses).await
            })
            .await
        })
    }
}
