//! Items of a turn: its messages, contexts and rounds, in order.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::message::TurnItem;
use protocol::turn::ExplainedHistory;
use protocol::{ThreadId, Timestamp, TurnId, TurnItemId, WorkspaceId};

use crate::column::{to_json, values};
use crate::connection::{Columns, MAX_ROWS, Statement, Tx, numbered};
use crate::memory::uses::{self, Uses};
use crate::turns::events::TurnEvent;
use crate::turns::lease;
use crate::turns::turn;
use crate::write::single_statement::{Author, JoinedStatements, PendingEvents};
use crate::{Store, StoreError};

const MESSAGE: &str = "message";
const CONTEXT: &str = "context";
const ROUND: &str = "round";
const TRIMMED: &str = "trimmed";
const REQUEST: &str = "request";

/// The columns that [`read_item`] reads.
macro_rules! item_columns {
    () => {
        "turn_item.turn_id, turn_item.ordinal, turn_item.created_at, turn_item.kind, turn_item.content"
    };
}

pub(crate) use item_columns;

/// Reads an item.
// `None` for a kind that this version does not know, which a later version may have written.
pub(crate) fn read_item(row: &mut Columns<'_>) -> Result<Option<StoredItem>, StoreError> {
    let turn_id = row.next()?;
    let ordinal = row.next()?;
    let created_at = row.next()?;
    let item = match row.next::<String>()?.as_str() {
        MESSAGE => TurnItem::Message(row.json("message")?),
        CONTEXT => TurnItem::Context(row.json("context of a turn")?),
        ROUND => TurnItem::Round(row.json("round of a turn")?),
        TRIMMED => TurnItem::Trimmed(row.json("trimmed results of a turn")?),
        REQUEST => TurnItem::Request(row.json("request of a turn")?),
        _ => return Ok(None),
    };
    Ok(Some(StoredItem { turn_id, ordinal, created_at, item }))
}

/// A stored item.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredItem {
    pub turn_id: TurnId,
    /// Position in the turn, from 1.
    pub ordinal: u64,
    pub created_at: Timestamp,
    pub item: TurnItem,
}

/// A range of a thread's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRange {
    /// Only turns with a higher ordinal.
    pub after: u64,
    /// Only turns with a lower ordinal.
    pub before: u64,
    pub part: RangePart,
}

/// Limits the turns of a range, from either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangePart {
    All,
    Oldest(u64),
    Newest(u64),
}

impl Store {
    /// Appends items to a turn that `owner` runs and logs the events, all or nothing.
    pub fn add_turn_items<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        items: &'a [TurnItem],
        events: Vec<TurnEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let rows = prepare(items)?;
            let workspace = workspace_id.clone();
            let turn = turn_id.clone();
            if rows.are_plain() && !events.is_empty() && self.is_postgres() {
                let workspace = workspace.clone();
                let turn = turn.clone();
                let owner = owner.to_owned();
                let rows = rows.clone();
                let events = events.clone();
                let added = self.write_joined(workspace_id, async move |tx: &mut Tx<'_>| {
                    let now = tx.now();
                    let events = PendingEvents::new(&workspace, &turn, events)?;
                    let change = JoinedStatements {
                        workspace_id: &workspace,
                        now,
                        turn: lease::held_subject(&workspace, &turn, &owner),
                        certain: Vec::new(),
                        others: inserts(&workspace, &turn, &rows, now),
                        events: &events,
                        changed_by: Author::TurnCreator,
                    };
                    change.run(tx).await
                });
                if added.await?.is_some() {
                    return Ok(());
                }
            }
            // Several statements in one transaction: on SQLite, for items that use memory, and to find out why the
            // single statement failed.
            self.write_turn(workspace_id, turn_id, owner, events, async move |tx: &mut Tx<'_>| {
                insert(tx, &workspace, &turn, &rows).await?;
                drop_forgotten_summary(tx, &turn, &rows).await
            })
            .await
        })
    }

    /// Returns the items of a thread's completed turns in order, each with the ordinal of its turn.
    pub fn completed_items<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        range: TurnRange,
    ) -> BoxFuture<'a, Result<Vec<(u64, StoredItem)>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| completed_items(tx, &workspace_id, &thread_id, range).await)
            .boxed()
    }

    /// Returns a turn's items in order.
    pub fn turn_items<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<StoredItem>, StoreError>> {
        const ITEMS: &str = concat!(
            "SELECT ",
            item_columns!(),
            " FROM turn_item WHERE workspace_id = $1 AND turn_id = $2 ORDER BY ordinal"
        );
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&workspace_id, &turn_id];
            let items = tx.all(ITEMS, values, |mut row| read_item(&mut row)).await?;
            if items.is_empty() {
                turn::find_or_missing(tx, &workspace_id, &turn_id).await?;
            }
            Ok(items.into_iter().flatten().collect())
        })
        .boxed()
    }
}

pub(crate) async fn completed_items(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    range: TurnRange,
) -> Result<Vec<(u64, StoredItem)>, StoreError> {
    macro_rules! completed {
        ($order:literal) => {
            concat!(
                "SELECT turn.ordinal, ",
                item_columns!(),
                " FROM (SELECT id, ordinal FROM turn
                    WHERE workspace_id = $1 AND thread_id = $2 AND status = 'completed'
                        AND ordinal > $3 AND ordinal < $4
                    ORDER BY ordinal ",
                $order,
                " LIMIT $5) turn
                JOIN turn_item ON turn_item.turn_id = turn.id
                ORDER BY turn.ordinal, turn_item.ordinal"
            )
        };
    }
    let (select, limit) = match range.part {
        RangePart::All => (completed!("ASC"), u64::MAX),
        RangePart::Oldest(limit) => (completed!("ASC"), limit),
        RangePart::Newest(limit) => (completed!("DESC"), limit),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = values![workspace_id, thread_id, range.after, range.before, limit];
    let items = tx.all(select, values, |mut row| {
        let ordinal = row.next()?;
        Ok(read_item(&mut row)?.map(|item| (ordinal, item)))
    });
    Ok(items.await?.into_iter().flatten().collect())
}

/// Items in their stored form.
#[derive(Clone)]
pub(crate) struct NewItems {
    rows: Vec<ItemRow>,
    /// The memory items that their calls used.
    uses: Uses,
}

#[derive(Clone)]
struct ItemRow {
    id: TurnItemId,
    kind: &'static str,
    content: String,
    summarised: Option<Summarised>,
}

/// The summary in a context, and the context without it.
#[derive(Clone)]
struct Summarised {
    summary: String,
    without: String,
}

pub(crate) fn prepare(items: &[TurnItem]) -> Result<NewItems, StoreError> {
    let rows = items.iter().map(|item| {
        let (kind, content) = match item {
            TurnItem::Message(message) => (MESSAGE, to_json(message)?),
            TurnItem::Context(context) => (CONTEXT, to_json(context)?),
            TurnItem::Round(outcome) => (ROUND, to_json(outcome)?),
            TurnItem::Trimmed(trimmed) => (TRIMMED, to_json(trimmed)?),
            TurnItem::Request(request) => (REQUEST, to_json(request)?),
        };
        let summarised = match item {
            TurnItem::Context(context) => context.summary.clone().map(|summary| {
                let without = ExplainedHistory { summary: None, ..context.clone() };
                Ok::<_, StoreError>(Summarised { summary, without: to_json(&without)? })
            }),
            TurnItem::Message(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => None,
        };
        Ok(ItemRow { id: TurnItemId::new(), kind, content, summarised: summarised.transpose()? })
    });
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    Ok(NewItems { rows, uses: uses::of_items(items) })
}

/// Appends items to a turn whose row is locked.
pub(crate) async fn insert(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    items: &NewItems,
) -> Result<(), StoreError> {
    let statements = inserts(workspace_id, turn_id, items, tx.now());
    tx.execute_all(statements).await?;
    uses::record(tx, workspace_id, turn_id, &items.uses).await
}

/// Removes the summary from a context that was just written, unless it is still the thread's.
// If it is not, something in it has been forgotten since the turn read it. This comes last, because a purge locks a
// thread's summary after everything else, and the opposite order would deadlock.
pub(crate) async fn drop_forgotten_summary(
    tx: &mut Tx<'_>,
    turn_id: &TurnId,
    items: &NewItems,
) -> Result<(), StoreError> {
    for row in &items.rows {
        let Some(Summarised { summary, without }) = &row.summarised else { continue };
        let lock = if tx.is_postgres() { " FOR SHARE OF c" } else { "" };
        let select = format!(
            "SELECT c.summary FROM turn t JOIN thread_context c ON c.thread_id = t.thread_id WHERE t.id = $1{lock}"
        );
        let present = tx.one_by_key(select, values![turn_id], |mut row| row.next::<Option<String>>()).await?;
        if present.flatten().as_ref() != Some(summary) {
            tx.execute("UPDATE turn_item SET content = $1 WHERE id = $2", values![without, &row.id]).await?;
        }
    }
    Ok(())
}

/// Builds the statements that append items.
// Each statement continues from the highest ordinal, so the second one sees where the first has ended.
pub(crate) fn inserts<'a>(
    workspace_id: &'a WorkspaceId,
    turn_id: &'a TurnId,
    items: &'a NewItems,
    created_at: Timestamp,
) -> Vec<Statement<'a>> {
    let batches = items.rows.chunks(MAX_ROWS).map(|batch| {
        let mut values = values![workspace_id, turn_id, created_at].to_vec();
        for (number, row) in (1_u64..).zip(batch) {
            values.extend_from_slice(values![&row.id, number, row.kind, &row.content]);
        }
        let rows = (0..batch.len()).map(|row| format!("({})", numbered(row * 4 + 4, 4)));
        let insert = format!(
            "INSERT INTO turn_item (id, workspace_id, turn_id, ordinal, kind, content, created_at)
            SELECT v.column1, $1, $2, last.ordinal + v.column2, v.column3, v.column4, $3
            FROM (VALUES {}) v,
                (SELECT coalesce(max(ordinal), 0) AS ordinal FROM turn_item WHERE turn_id = $2) last",
            rows.collect::<Vec<_>>().join(", ")
        );
        Statement { sql: insert.into(), values }
    });
    batches.collect()
}

impl NewItems {
    /// Returns true if the items are written by one statement that depends on nothing else.
    pub(crate) fn are_plain(&self) -> bool {
        self.rows.len() <= MAX_ROWS
            && self.uses.is_empty()
            && self.rows.iter().all(|row| row.summarised.is_none())
    }
}
