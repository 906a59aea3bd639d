//! The table `hook_run`: one record for every run of a hook.

use protocol::Timestamp;
use sea_orm::entity::prelude::*;

use crate::{HookRun, StoreError};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "hook_run")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    pub(crate) turn_id: Option<String>,
    pub(crate) package_id: String,
    pub(crate) hook_id: String,
    pub(crate) subscription_id: String,
    pub(crate) phase: String,
    pub(crate) status: String,
    pub(crate) started_at: i64,
    pub(crate) duration_us: i64,
    /// JSON of the whole record.
    pub(crate) record: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for HookRun {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(HookRun {
            id: super::id(row.id)?,
            workspace_id: row.workspace_id.map(super::id).transpose()?,
            thread_id: row.thread_id.map(super::id).transpose()?,
            turn_id: row.turn_id.map(super::id).transpose()?,
            package_id: row.package_id,
            hook_id: row.hook_id,
            subscription_id: row.subscription_id,
            phase: row.phase,
            status: row.status,
            started_at: Timestamp::from_milliseconds(row.started_at),
            duration_us: super::count(row.duration_us),
            record: super::json("hook_run.record", &row.record)?,
        })
    }
}
