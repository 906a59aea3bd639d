//! Reads of a turn at its start, and the start of each round.
//!
//! [`Store::create_turn`] writes the start before it is acknowledged, [`Store::begin_round`] the prompt's manifest
//! before the model is called, and [`Store::finish_turn`] the answer with the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::hook::HookRun;
use protocol::message::TurnItem;
use protocol::prompt::RoundManifest;
use protocol::{
    ContentHash, ErrorSubject, Thread, ThreadId, ThreadSession, Turn, TurnId, Workspace, WorkspaceId,
};

use crate::column::{Value, values};
use crate::connection::{Columns, Tx};
use crate::memory::items::{MemoryView, is_visible};
use crate::memory::uses;
use crate::tree::threads::{read_thread, thread_columns};
use crate::turns::events::TurnEvent;
use crate::turns::hook_runs;
use crate::turns::hook_runs::HookRunRow;
use crate::turns::items;
use crate::turns::items::{NewItems, StoredItem, item_columns, read_item};
use crate::turns::lease;
use crate::turns::manifests;
use crate::turns::manifests::{Inserted, ManifestRow};
use crate::turns::prompt_texts;
use crate::turns::prompt_texts::PromptText;
use crate::turns::sessions;
use crate::turns::thread_contexts;
use crate::turns::thread_contexts::ThreadContext;
use crate::workspaces::{read_workspace, workspace_columns};
use crate::write::single_statement::{Author, JoinedStatements, PendingEvents};
use crate::{Store, StoreError};

/// The workspace and thread of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSubject {
    pub workspace: Workspace,
    /// May be archived.
    pub thread: Thread,
}

/// The stored part of a thread's history.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredHistory {
    /// The turns that are left out, and their summary.
    pub context: Option<ThreadContext>,
    /// Items of the newest completed turns that are not left out, each with the ordinal of its turn, in order.
    pub items: Vec<(u64, StoredItem)>,
}

/// The state from which a turn starts.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// `None` before the thread's first completed turn.
    pub session: Option<ThreadSession>,
    /// The hidden tools that the thread has requested, in the order of the requests.
    pub requested_tools: Vec<String>,
    /// Set if the turn can see any memory item.
    pub has_memories: bool,
}

fn read_start(mut row: Columns<'_>) -> Result<TurnStart, StoreError> {
    let requested_tools = row.optional_json("requested tools")?.unwrap_or_default();
    let has_memories = row.next()?;
    let session = if row.is_null()? { None } else { Some(sessions::read_session(&mut row)?) };
    Ok(TurnStart { session, requested_tools, has_memories })
}

/// The start of a round, stored before the model is called.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginRound {
    /// Hooks that ran since the previous round.
    pub hook_runs: Vec<HookRun>,
    /// Items that precede the round.
    pub items: Vec<TurnItem>,
    /// Texts that the manifest names and that no earlier round of the turn has stored.
    pub texts: Vec<PromptText>,
    pub manifest: RoundManifest,
    pub events: Vec<TurnEvent>,
}

fn read_subject(mut row: Columns<'_>) -> Result<TurnSubject, StoreError> {
    Ok(TurnSubject { workspace: read_workspace(&mut row)?, thread: read_thread(&mut row)? })
}

impl Store {
    /// Returns a workspace and one of its threads.
    // Not the session: another turn may end and save a later one before this turn is created.
    pub fn turn_subject<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<TurnSubject, StoreError>> {
        const SUBJECT: &str = concat!(
            "SELECT ",
            workspace_columns!(),
            ", ",
            thread_columns!(),
            " FROM workspace w JOIN thread t ON t.workspace_id = w.id
        LEFT JOIN thread_placement p ON p.thread_id = t.id
        WHERE w.id = $1 AND t.id = $2"
        );
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            match tx.one_by_key(SUBJECT, values![&workspace_id, &thread_id], read_subject).await? {
                Some(subject) => Ok(subject),
                None => Err(tx.missing(&workspace_id, ErrorSubject::Thread, &thread_id).await),
            }
        })
        .boxed()
    }

    /// Returns the history before an ordinal: the newest `max_turns` completed turns, read in one snapshot.
    pub fn stored_history<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        before: u64,
        max_turns: u64,
    ) -> BoxFuture<'a, Result<StoredHistory, StoreError>> {
        // One statement, so that context and items belong together. The context is the first row, which has no turn.
        const HISTORY: &str = concat!(
            "SELECT CAST(0 AS BIGINT), thread_id, through, updated_at, summary, CAST(version AS TEXT)
                FROM thread_context WHERE thread_id = $2 AND workspace_id = $1
            UNION ALL
            SELECT turn.ordinal, ",
            item_columns!(),
            " FROM (SELECT id, ordinal FROM turn
                WHERE workspace_id = $1 AND thread_id = $2 AND status = 'completed' AND ordinal < $3
                    AND ordinal > coalesce((SELECT through FROM thread_context
                        WHERE thread_id = $2 AND workspace_id = $1), 0)
                ORDER BY ordinal DESC LIMIT $4) turn
            JOIN turn_item ON turn_item.turn_id = turn.id
            ORDER BY 1, 3"
        );
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let mut context = None;
            let mut items = Vec::new();
            tx.each(HISTORY, values![&workspace_id, &thread_id, before, max_turns], |row| {
                let mut row = row.columns();
                match row.next::<u64>()? {
                    0 => context = Some(thread_contexts::read_first_row(&mut row)?),
                    ordinal => items.extend(read_item(&mut row)?.map(|item| (ordinal, item))),
                }
                Ok(())
            })
            .await?;
            Ok(StoredHistory { context, items })
        })
        .boxed()
    }

    /// Returns the state from which a created turn starts; `view` selects the visible memory.
    pub fn turn_start<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        view: &'a MemoryView,
    ) -> BoxFuture<'a, Result<TurnStart, StoreError>> {
        const START: &str = concat!(
            "SELECT r.names, CAST(CASE WHEN EXISTS (SELECT 1 FROM memory_item m WHERE m.status = 'active'
                    AND (m.expires_at IS NULL OR m.expires_at > $1) AND ",
            is_visible!(),
            ") THEN 1 ELSE 0 END AS BIGINT), s.thread_id, s.version, s.updated_at, s.state
            FROM thread t LEFT JOIN requested_tools r ON r.thread_id = t.id
            LEFT JOIN session s ON s.thread_id = t.id
            WHERE t.id = $5 AND t.workspace_id = $2"
        );
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        let view = view.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let [workspace, owner, thread] = view.values();
            let values = [Value::from(tx.now()), workspace, owner, thread, Value::from(&thread_id)];
            match tx.one_by_key(START, &values, read_start).await? {
                Some(start) => Ok(start),
                None => Err(tx.missing(&workspace_id, ErrorSubject::Thread, &thread_id).await),
            }
        })
        .boxed()
    }

    /// Stores the start of a round of a turn that `owner` runs, all or nothing.
    ///
    /// A round has one manifest: beginning it again with the same one changes nothing, and another one is rejected.
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
            let workspace = workspace_id.clone();
            let turn = turn_id.clone();
            let uses = uses::of_manifest(&manifest.manifest);
            let round = Arc::new(RoundRows {
                hook_runs: hook_runs::prepare(hook_runs)?,
                items: items::prepare(&items)?,
                manifest: manifests::prepare(manifest)?,
                texts: prompt_texts::in_order(&texts)?,
            });
            // A round that uses memory must lock the items before it is known what can be written, so it takes several
            // statements.
            if uses.is_empty() && round.items.are_plain() && !events.is_empty() && self.is_postgres() {
                let workspace = workspace.clone();
                let turn = turn.clone();
                let round = Arc::clone(&round);
                let owner = owner.to_owned();
                let events = events.clone();
                let begun = self.write_joined(workspace_id, async move |tx: &mut Tx<'_>| {
                    round.write_joined(tx, (&workspace, &turn, &owner), events).await
                });
                if begun.await?.is_some() {
                    return Ok(());
                }
            }
            // Several statements in one transaction: on SQLite, for rounds that use memory, and to find out why the
            // single statement failed.
            self.write_turn(workspace_id, turn_id, owner, events, async move |tx: &mut Tx<'_>| {
                if manifests::insert(tx, &workspace, &turn, &round.manifest).await? == Inserted::Before {
                    tx.discard();
                    return Ok(());
                }
                let now = tx.now();
                tx.execute_all(prompt_texts::put(&workspace, &round.texts, now)).await?;
                tx.execute_all(hook_runs::insert(&round.hook_runs)).await?;
                items::insert(tx, &workspace, &turn, &round.items).await?;
                // Last, because items that were forgotten meanwhile are purged from everything that has been written by
                // then.
                uses::record(tx, &workspace, &turn, &uses).await?;
                items::drop_forgotten_summary(tx, &turn, &round.items).await
            })
            .await
        })
    }
}

/// The start of a round in its stored form.
struct RoundRows {
    hook_runs: Vec<HookRunRow>,
    items: NewItems,
    manifest: ManifestRow,
    texts: BTreeMap<ContentHash, String>,
}

impl RoundRows {
    async fn write_joined(
        &self,
        tx: &mut Tx<'_>,
        (workspace_id, turn_id, owner): (&WorkspaceId, &TurnId, &str),
        events: Vec<TurnEvent>,
    ) -> Result<Option<Turn>, StoreError> {
        let now = tx.now();
        let events = PendingEvents::new(workspace_id, turn_id, events)?;
        let mut others = prompt_texts::put(workspace_id, &self.texts, now);
        others.extend(hook_runs::insert(&self.hook_runs));
        others.extend(items::inserts(workspace_id, turn_id, &self.items, now));
        let change = JoinedStatements {
            workspace_id,
            now,
            turn: lease::held_subject(workspace_id, turn_id, owner),
            certain: vec![manifests::insert_statement(workspace_id, turn_id, &self.manifest, now)],
            others,
            events: &events,
            changed_by: Author::TurnCreator,
        };
        change.run(tx).await
    }
}
