//! What a turn needs of the store, in as few statements as it takes: three transactions and eighteen statements for a
//! question and its answer.
//!
//! The start is written by [`Store::create_turn`], before it is answered; the round's proof by [`Store::begin_round`],
//! before a model is asked; the answer with the end, by [`Store::finish_turn`].

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
use crate::turns::events::{self, TurnEvent};
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
use crate::write::single_statement::{Author, StatementList};
use crate::{Store, StoreError};

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

/// What a turn starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// None before the thread's first turn.
    pub session: Option<ThreadSession>,
    /// The hidden tools that the thread has asked for, in the order in which it did.
    pub requested_tools: Vec<String>,
    /// Whether anything is remembered that the turn can see.
    pub has_memories: bool,
}

fn read_start(mut row: Columns<'_>) -> Result<TurnStart, StoreError> {
    let requested_tools = row.optional_json("requested tools")?.unwrap_or_default();
    let has_memories = row.next()?;
    let session = if row.is_null()? { None } else { Some(sessions::read_session(&mut row)?) };
    Ok(TurnStart { session, requested_tools, has_memories })
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

    /// What can be sent of the turns before an ordinal, of one moment: the newest `max_turns` that completed.
    pub fn stored_history<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        before: u64,
        max_turns: u64,
    ) -> BoxFuture<'a, Result<StoredHistory, StoreError>> {
        // The context is the first row, and has no turn; so all of it is of one moment, in one statement.
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

    /// What a turn that was begun starts from; `view` says whose memory counts.
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
            let workspace = workspace_id.clone();
            let turn = turn_id.clone();
            let uses = uses::of_manifest(&manifest.manifest);
            let round = Arc::new(RoundRows {
                hook_runs: hook_runs::prepare(hook_runs)?,
                items: items::prepare(&items)?,
                manifest: manifests::prepare(manifest)?,
                texts: prompt_texts::in_order(&texts)?,
            });
            // What uses memory locks it before it is known what can be written.
            if uses.is_empty() && round.items.are_plain() && !events.is_empty() && self.is_postgres() {
                let workspace = workspace.clone();
                let turn = turn.clone();
                let round = Arc::clone(&round);
                let owner = owner.to_owned();
                let events = events.clone();
                let begun = self.write_at_once(workspace_id, async move |tx: &mut Tx<'_>| {
                    round.write_at_once(tx, (&workspace, &turn, &owner), events).await
                });
                if begun.await?.is_some() {
                    return Ok(());
                }
            }
            self.write_turn(workspace_id, turn_id, owner, events, async move |tx: &mut Tx<'_>| {
                if manifests::insert(tx, &workspace, &turn, &round.manifest).await? == Inserted::Before {
                    tx.discard();
                    return Ok(());
                }
                let now = tx.now();
                tx.execute_all(prompt_texts::put(&workspace, &round.texts, now)).await?;
                tx.execute_all(hook_runs::insert(&round.hook_runs)).await?;
                items::insert(tx, &workspace, &turn, &round.items).await?;
                // Last, because what was forgotten meanwhile is taken out of all that is there by now.
                uses::record(tx, &workspace, &turn, &uses).await?;
                items::drop_forgotten_summary(tx, &turn, &round.items).await
            })
            .await
        })
    }
}

/// What a round begins with, as it is written.
struct RoundRows {
    hook_runs: Vec<HookRunRow>,
    items: NewItems,
    manifest: ManifestRow,
    texts: BTreeMap<ContentHash, String>,
}

impl RoundRows {
    async fn write_at_once(
        &self,
        tx: &mut Tx<'_>,
        (workspace_id, turn_id, owner): (&WorkspaceId, &TurnId, &str),
        events: Vec<TurnEvent>,
    ) -> Result<Option<Turn>, StoreError> {
        let now = tx.now();
        let notices = events::notices_of(workspace_id, turn_id, events)?;
        let mut others = prompt_texts::put(workspace_id, &self.texts, now);
        others.extend(hook_runs::insert(&self.hook_runs));
        others.extend(items::inserts(workspace_id, turn_id, &self.items, now));
        let change = StatementList {
            workspace_id,
            now,
            turn: lease::held_subject(workspace_id, turn_id, owner),
            certain: vec![manifests::insert_statement(workspace_id, turn_id, &self.manifest, now)],
            others,
            notices: &notices,
            changed_by: Author::TurnCreator,
        };
        change.run(tx).await
    }
}
