//! The table `thread_agents_doc`: the current document of each scope, and archived ones.

use protocol::{ContentHash, Document, Timestamp, Version};
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::SimpleExpr;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "thread_agents_doc")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: String,
    pub(crate) folder_id: Option<String>,
    pub(crate) status: String,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) content_sha256: String,
    pub(crate) char_count: i64,
    pub(crate) version: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) archived_at: Option<i64>,
    pub(crate) created_by: Option<String>,
    pub(crate) updated_by: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// Selects documents that were not archived.
///
/// In the words of the partial indexes: SQLite uses one only for its own condition, and never for words that are
/// bound as values, but would read the whole table instead.
pub(crate) fn live() -> SimpleExpr {
    Expr::cust("thread_agents_doc.status IN ('draft', 'active')")
}

impl TryFrom<Model> for Document {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Document {
            id: super::id(row.id)?,
            workspace_id: super::id(row.workspace_id)?,
            folder_id: row.folder_id.map(super::id).transpose()?,
            status: super::word(&row.status)?,
            title: row.title,
            content: row.content,
            content_sha256: ContentHash::from_stored(row.content_sha256),
            version: Version::from_column(row.version),
            char_count: u64::try_from(row.char_count).unwrap_or(0),
            created_at: Timestamp::from_milliseconds(row.created_at),
            updated_at: Timestamp::from_milliseconds(row.updated_at),
            archived_at: row.archived_at.map(Timestamp::from_milliseconds),
            created_by: row.created_by,
            updated_by: row.updated_by,
        })
    }
}
