//! The table `thread_context`: which turns of a thread are left out of requests, and what stands for them.

use protocol::{Timestamp, Version};
use sea_orm::entity::prelude::*;

use crate::{StoreError, ThreadContext};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "thread_context")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) thread_id: String,
    pub(crate) workspace_id: String,
    /// Turns up to this ordinal are left out.
    pub(crate) through: i64,
    pub(crate) summary: Option<String>,
    pub(crate) version: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for ThreadContext {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(ThreadContext {
            thread_id: super::id(row.thread_id)?,
            through: super::count(row.through),
            summary: row.summary,
            version: Version::from_column(row.version),
            updated_at: Timestamp::from_milliseconds(row.updated_at),
        })
    }
}
