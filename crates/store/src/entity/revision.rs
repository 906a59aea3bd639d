//! The table `thread_agents_doc_revision`: every version a scope ever had.

use protocol::{ContentHash, Revision, Timestamp, Version};
use sea_orm::entity::prelude::*;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "thread_agents_doc_revision")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) doc_id: String,
    pub(crate) workspace_id: String,
    pub(crate) folder_id: Option<String>,
    pub(crate) version: i64,
    pub(crate) content: String,
    pub(crate) content_sha256: String,
    pub(crate) char_count: i64,
    pub(crate) saved_at: i64,
    pub(crate) saved_by: Option<String>,
    pub(crate) save_reason: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Revision {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Revision {
            version: Version::from_column(row.version),
            content: row.content,
            content_sha256: ContentHash::from_stored(row.content_sha256),
            char_count: u64::try_from(row.char_count).unwrap_or(0),
            saved_at: Timestamp::from_milliseconds(row.saved_at),
            saved_by: row.saved_by,
            save_reason: super::word(&row.save_reason)?,
        })
    }
}
