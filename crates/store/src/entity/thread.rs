//! The table `thread`.

use protocol::{FolderId, Thread, Timestamp};
use sea_orm::entity::prelude::*;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "thread")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: String,
    pub(crate) title: String,
    pub(crate) mode: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) archived_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Model {
    pub(crate) fn into_thread(self, folder_id: Option<FolderId>) -> Result<Thread, StoreError> {
        Ok(Thread {
            id: super::id(self.id)?,
            workspace_id: super::id(self.workspace_id)?,
            folder_id,
            title: self.title,
            mode: super::word(&self.mode)?,
            created_at: Timestamp::from_milliseconds(self.created_at),
            updated_at: Timestamp::from_milliseconds(self.updated_at),
            archived_at: self.archived_at.map(Timestamp::from_milliseconds),
        })
    }
}
