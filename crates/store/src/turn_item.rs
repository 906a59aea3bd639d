//! Items of a turn: what was said and done, in the order it happened.

use protocol::{ThreadId, Timestamp, TurnId, TurnItemId, WorkspaceId};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect, Statement,
};
use serde_json::Value;

use crate::entity::{self, turn_item};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, name};

/// Rows that one statement inserts; their values stay below what either database takes.
const BATCH: usize = 500;

/// The items of completed turns of the workspace `$1` and the thread `$2` after the ordinal `$3` and before `$4`.
const COMPLETED_ITEMS: &str = "
SELECT turn.ordinal AS turn_ordinal, turn_item.*
FROM turn
JOIN turn_item ON turn_item.turn_id = turn.id
WHERE turn.workspace_id = $1 AND turn.thread_id = $2 AND turn.status = 'completed'
    AND turn.ordinal > $3 AND turn.ordinal < $4
ORDER BY turn.ordinal, turn_item.ordinal
";

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
        items.iter().try_for_each(|item| name::check("kind", &item.kind))?;
        let write = self.write_turn(workspace_id, turn_id, owner, events).await?;
        let newest: Option<i64> = turn_item::Entity::find()
            .select_only()
            .column(turn_item::Column::Ordinal)
            .filter(turn_item::Column::TurnId.eq(turn_id.as_str()))
            .order_by_desc(turn_item::Column::Ordinal)
            .limit(1)
            .into_tuple()
            .one(write.transaction())
            .await?;
        let created_at = Timestamp::now().milliseconds();
        let rows: Vec<turn_item::Model> = (newest.unwrap_or(0) + 1..)
            .zip(items)
            .map(|(ordinal, item)| turn_item::Model {
                id: TurnItemId::new().to_string(),
                workspace_id: workspace_id.to_string(),
                turn_id: turn_id.to_string(),
                ordinal,
                kind: item.kind,
                content: item.content.to_string(),
                created_at,
            })
            .collect();
        for batch in rows.chunks(BATCH) {
            let batch = batch.iter().cloned().map(IntoActiveModel::into_active_model);
            turn_item::Entity::insert_many(batch).exec_without_returning(write.transaction()).await?;
        }
        write.commit().await?;
        rows.into_iter().map(TurnItem::try_from).collect()
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
        let values: [sea_orm::Value; 4] = [
            workspace_id.as_str().into(),
            thread_id.as_str().into(),
            entity::to_column(after).into(),
            entity::to_column(before).into(),
        ];
        let statement = Statement::from_sql_and_values(self.backend(), COMPLETED_ITEMS, values);
        let rows = self.readers().query_all_raw(statement).await?;
        rows.into_iter()
            .map(|row| {
                let turn: i64 = row.try_get("", "turn_ordinal")?;
                let item = turn_item::Model::from_query_result(&row, "")?;
                Ok((entity::count(turn), item.try_into()?))
            })
            .collect()
    }

    /// A turn's items, in order.
    pub async fn turn_items(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<TurnItem>, StoreError> {
        let rows = turn_item::Entity::find()
            .filter(turn_item::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(turn_item::Column::TurnId.eq(turn_id.as_str()))
            .order_by_asc(turn_item::Column::Ordinal)
            .all(self.readers())
            .await?;
        if rows.is_empty() {
            self.turn(workspace_id, turn_id).await?;
        }
        rows.into_iter().map(TurnItem::try_from).collect()
    }
}
