//! The table `folder`.

use protocol::{Folder, Timestamp};
use sea_orm::entity::prelude::*;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "folder")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) workspace_id: String,
    pub(crate) parent_folder_id: Option<String>,
    pub(crate) name: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) deleted_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {
    /// The folder's document, unless it is archived.
    #[sea_orm(
        belongs_to = "super::document::Entity",
        from = "(Column::WorkspaceId, Column::Id)",
        to = "(super::document::Column::WorkspaceId, super::document::Column::FolderId)",
        on_condition = r#"super::document::live()"#
    )]
    LiveDocument,
}

impl Related<super::document::Entity> for Entity {
    fn to() -> RelationDef {
        Relation::LiveDocument.def()
    }
}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Folder {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(Folder {
            id: super::id(row.id)?,
            workspace_id: super::id(row.workspace_id)?,
            parent_folder_id: row.parent_folder_id.map(super::id).transpose()?,
            name: row.name,
            created_at: Timestamp::from_milliseconds(row.created_at),
            updated_at: Timestamp::from_milliseconds(row.updated_at),
        })
    }
}
