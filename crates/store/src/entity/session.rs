//! The table `session`: what a thread carries from one turn to the next.

use protocol::{Timestamp, Version};
use sea_orm::entity::prelude::*;

use crate::{Session, StoreError};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "session")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) thread_id: String,
    pub(crate) workspace_id: String,
    /// JSON.
    pub(crate) state: String,
    pub(crate) version: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Session {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Session {
            thread_id: super::id(row.thread_id)?,
            state: super::json("session.state", &row.state)?,
            version: Version::from_column(row.version),
            updated_at: Timestamp::from_milliseconds(row.updated_at),
        })
    }
}
