//! The table `turn`.

use protocol::Timestamp;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::SimpleExpr;

use crate::{StoreError, Turn};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "turn")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: String,
    pub(crate) thread_id: String,
    /// Counts the thread's turns from 1.
    pub(crate) ordinal: i64,
    pub(crate) status: String,
    pub(crate) input: String,
    pub(crate) model: Option<String>,
    pub(crate) cwd: Option<String>,
    /// JSON.
    pub(crate) error: Option<String>,
    /// JSON.
    pub(crate) usage: Option<String>,
    pub(crate) lease_owner: Option<String>,
    pub(crate) lease_expires_at: Option<i64>,
    pub(crate) created_at: i64,
    pub(crate) finished_at: Option<i64>,
    pub(crate) created_by: Option<String>,
    pub(crate) stop_requested_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// Selects turns that are running, in the words of the partial indexes: SQLite uses one only for its own condition.
pub(crate) fn running() -> SimpleExpr {
    Expr::cust("turn.status = 'running'")
}

impl TryFrom<Model> for Turn {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Turn {
            id: super::id(row.id)?,
            workspace_id: super::id(row.workspace_id)?,
            thread_id: super::id(row.thread_id)?,
            ordinal: super::count(row.ordinal),
            status: super::word(&row.status)?,
            input: row.input,
            model: row.model,
            cwd: row.cwd,
            error: row.error.map(|text| super::json("turn.error", &text)).transpose()?,
            usage: row.usage.map(|text| super::json("turn.usage", &text)).transpose()?,
            lease_owner: row.lease_owner,
            lease_expires_at: row.lease_expires_at.map(Timestamp::from_milliseconds),
            created_at: Timestamp::from_milliseconds(row.created_at),
            finished_at: row.finished_at.map(Timestamp::from_milliseconds),
            created_by: row.created_by,
            stop_requested_at: row.stop_requested_at.map(Timestamp::from_milliseconds),
        })
    }
}
