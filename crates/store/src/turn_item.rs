//! Items of a turn: what was said and done, in the order it happened.

use protocol::{ThreadId, Timestamp, TurnId, TurnItemId, WorkspaceId};
use serde_json::Value;

use crate::column::values;
use crate::on::{Columns, MAX_ROWS, On, numbered};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, name, turn};

/// The columns that [`read_item`] reads.
macro_rules! item_columns {
    () => {
        "turn_item.id, turn_item.turn_id, turn_item.ordinal, turn_item.kind, turn_item.content, turn_item.created_at"
    };
}

fn read_item(row: &mut Columns<'_>) -> Result<TurnItem, StoreError> {
    Ok(TurnItem {
        id: row.next()?,
        turn_id: row.next()?,
        ordinal: row.next()?,
        kind: row.next()?,
        content: row.next()?,
        created_at: row.next()?,
    })
}

/// An item as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnItem {
    /// Identifies the item.
    pub id: TurnItemId,
    /// The turn.
    pub turn_id: TurnId,
    /// Counts the turn's items from 1.
    pub ordinal: u64,
    /// What it is.
    pub kind: String,
    /// The item itself.
    pub content: Value,
    /// When it was added.
    pub created_at: Timestamp,
}

/// What a new item has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTurnItem {
    /// What it is.
    pub kind: String,
    /// The item itself.
    pub content: Value,
}

impl Store {
    /// Adds items to the end of a turn that `owner` runs, and tells of the events: all of it, or nothing.
    pub async fn add_turn_items(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        items: Vec<NewTurnItem>,
        events: Vec<TurnEvent>,
    ) -> Result<Vec<TurnItem>, StoreError> {
        check(&items)?;
        let (workspace, turn) = (workspace_id.clone(), turn_id.clone());
        self.write_turn(workspace_id, turn_id, owner, events, async move |on: &mut On<'_>| {
            insert(on, &workspace, &turn, items).await
        })
        .await
    }

    /// The items of a thread's completed turns between two ordinals, both exclusive, each with the ordinal of its turn,
    /// in order.
    pub async fn completed_items(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        after: u64,
        before: u64,
    ) -> Result<Vec<(u64, TurnItem)>, StoreError> {
        let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
        self.read(async move |on: &mut On<'_>| {
            completed_items(on, &workspace_id, &thread_id, after, before).await
        })
        .await
    }

    /// A turn's items, in order.
    pub async fn turn_items(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<TurnItem>, StoreError> {
        const ITEMS: &str = concat!(
            "SELECT ",
            item_columns!(),
            " FROM turn_item WHERE workspace_id = $1 AND turn_id = $2 ORDER BY ordinal"
        );
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let values = values![&workspace_id, &turn_id];
            let items = on.all(ITEMS, values, |mut row| read_item(&mut row)).await?;
            if items.is_empty() {
                turn::find_or_missing(on, &workspace_id, &turn_id).await?;
            }
            Ok(items)
        })
        .await
    }
}

pub(crate) async fn completed_items(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    after: u64,
    before: u64,
) -> Result<Vec<(u64, TurnItem)>, StoreError> {
    const COMPLETED: &str = concat!(
        "SELECT turn.ordinal, ",
        item_columns!(),
        " FROM turn JOIN turn_item ON turn_item.turn_id = turn.id
        WHERE turn.workspace_id = $1 AND turn.thread_id = $2 AND turn.status = 'completed'
            AND turn.ordinal > $3 AND turn.ordinal < $4
        ORDER BY turn.ordinal, turn_item.ordinal"
    );
    on.all(COMPLETED, values![workspace_id, thread_id, after, before], |mut row| {
        Ok((row.next()?, read_item(&mut row)?))
    })
    .await
}

pub(crate) fn check(items: &[NewTurnItem]) -> Result<(), StoreError> {
    items.iter().try_for_each(|item| name::check("kind", &item.kind))
}

/// Adds items to the end of a turn, whose row is locked.
pub(crate) async fn insert(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    items: Vec<NewTurnItem>,
) -> Result<Vec<TurnItem>, StoreError> {
    let created_at = Timestamp::now();
    let mut inserted: Vec<TurnItem> = items
        .into_iter()
        .map(|NewTurnItem { kind, content }| TurnItem {
            id: TurnItemId::new(),
            turn_id: turn_id.clone(),
            ordinal: 0,
            kind,
            content,
            created_at,
        })
        .collect();
    for batch in inserted.chunks_mut(MAX_ROWS) {
        let contents: Vec<String> = batch.iter().map(|item| item.content.to_string()).collect();
        let mut values = values![workspace_id, turn_id, created_at].to_vec();
        for (number, (item, content)) in (1_u64..).zip(batch.iter().zip(&contents)) {
            values.extend_from_slice(values![&item.id, number, &item.kind, content]);
        }
        let rows = (0..batch.len()).map(|row| format!("({})", numbered(row * 4 + 4, 4)));
        let insert = format!(
            "INSERT INTO turn_item (id, workspace_id, turn_id, ordinal, kind, content, created_at)
            SELECT v.column1, $1, $2, last.ordinal + v.column2, v.column3, v.column4, $3
            FROM (VALUES {}) v,
                (SELECT coalesce(max(ordinal), 0) AS ordinal FROM turn_item WHERE turn_id = $2) last
            RETURNING ordinal",
            rows.collect::<Vec<_>>().join(", ")
        );
        let ordinals: Vec<u64> = on.all(insert, &values, |mut row| row.next()).await?;
        let first = ordinals.into_iter().min().unwrap_or(1);
        for (ordinal, item) in (first..).zip(batch) {
            item.ordinal = ordinal;
        }
    }
    Ok(inserted)
}
