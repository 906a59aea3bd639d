//! The table `turn_item`: what was said and done in a turn, in order.

use protocol::Timestamp;
use sea_orm::entity::prelude::*;

use crate::{StoreError, TurnItem};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "turn_item")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: String,
    pub(crate) turn_id: String,
    /// Counts the turn's items from 1.
    pub(crate) ordinal: i64,
    pub(crate) kind: String,
    /// JSON.
    pub(crate) content: String,
    pub(crate) created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for TurnItem {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(TurnItem {
            id: super::id(row.id)?,
            turn_id: super::id(row.turn_id)?,
            ordinal: super::count(row.ordinal),
            kind: row.kind,
            content: super::json("turn_item.content", &row.content)?,
            created_at: Timestamp::from_milliseconds(row.created_at),
        })
    }
}
