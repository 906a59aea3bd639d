//! The table `turn_approval`: tool calls that wait, or waited, for somebody to decide.

use protocol::Timestamp;
use sea_orm::entity::prelude::*;

use crate::{Approval, StoreError};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "turn_approval")]
pub(crate) struct Model {
    pub(crate) workspace_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) turn_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) call_id: String,
    /// JSON.
    pub(crate) request: String,
    pub(crate) requested_at: i64,
    pub(crate) expires_at: i64,
    /// 0 or 1; none while nobody has decided.
    pub(crate) allowed: Option<i64>,
    pub(crate) decided_at: Option<i64>,
    pub(crate) decided_by: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Approval {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Approval {
            turn_id: super::id(row.turn_id)?,
            call_id: row.call_id,
            request: super::json("turn_approval.request", &row.request)?,
            requested_at: Timestamp::from_milliseconds(row.requested_at),
            expires_at: Timestamp::from_milliseconds(row.expires_at),
            allowed: row.allowed.map(|allowed| allowed != 0),
            decided_at: row.decided_at.map(Timestamp::from_milliseconds),
            decided_by: row.decided_by,
        })
    }
}
