//! Folders of the thread tree.

use protocol::notification::TreeChange;
use protocol::{Folder, FolderId, WorkspaceId};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter,
    Statement, sea_query::Expr,
};

use crate::entity::{folder, placement};
use crate::write::{WorkspaceWrite, find_folder};
use crate::{Scope, Store, StoreError, name};

/// Whether the folder `$2` is `$1` or stands below it.
const STANDS_BELOW: &str = "
WITH RECURSIVE ancestry(id, parent_id) AS (
    SELECT id, parent_folder_id FROM folder WHERE id = $2
    UNION ALL
    SELECT f.id, f.parent_folder_id FROM ancestry a JOIN folder f ON f.id = a.parent_id
)
SELECT id FROM ancestry WHERE id = $1";

impl Store {
    /// Makes a folder.
    pub async fn create_folder(
        &self,
        workspace_id: &WorkspaceId,
        parent_folder_id: Option<&FolderId>,
        name: &str,
        actor: Option<&str>,
    ) -> Result<Folder, StoreError> {
        name::check("name", name)?;
        let mut write = self.write(workspace_id, actor).await?;
        if let Some(parent) = parent_folder_id {
            write.folder(parent).await?;
        }
        let id = FolderId::new();
        let row = folder::Model {
            id: id.to_string(),
            workspace_id: workspace_id.to_string(),
            parent_folder_id: parent_folder_id.map(FolderId::to_string),
            name: name.to_owned(),
            created_at: write.now.milliseconds(),
            updated_at: write.now.milliseconds(),
            deleted_at: None,
        };
        folder::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&write.transaction)
            .await?;
        write.tree_changed(TreeChange::FolderCreated, Some(id), None)?;
        write.commit().await?;
        row.try_into()
    }

    /// One folder.
    pub async fn folder(
        &self,
        workspace_id: &WorkspaceId,
        folder_id: &FolderId,
    ) -> Result<Folder, StoreError> {
        match find_folder(self.readers(), workspace_id, folder_id).await {
            Ok(row) => row.try_into(),
            Err(error) => {
                // An unknown workspace is the better answer where that is what is wrong.
                self.sequence(workspace_id).await?;
                Err(error)
            }
        }
    }

    /// Gives a folder another name.
    pub async fn rename_folder(
        &self,
        workspace_id: &WorkspaceId,
        folder_id: &FolderId,
        name: &str,
        actor: Option<&str>,
    ) -> Result<Folder, StoreError> {
        name::check("name", name)?;
        let write = self.write(workspace_id, actor).await?;
        let row = write.folder(folder_id).await?;
        if row.name == name {
            return row.try_into();
        }
        let row = folder::Model { name: name.to_owned(), ..row };
        finish(write, row, TreeChange::FolderRenamed).await
    }

    /// Moves a folder into another one, or to the workspace root; never below itself.
    pub async fn move_folder(
        &self,
        workspace_id: &WorkspaceId,
        folder_id: &FolderId,
        parent_folder_id: Option<&FolderId>,
        actor: Option<&str>,
    ) -> Result<Folder, StoreError> {
        let write = self.write(workspace_id, actor).await?;
        let row = write.folder(folder_id).await?;
        if let Some(parent) = parent_folder_id {
            write.folder(parent).await?;
            let values = [folder_id.as_str().into(), parent.as_str().into()];
            let below = Statement::from_sql_and_values(self.backend(), STANDS_BELOW, values);
            if write.transaction.query_one_raw(below).await?.is_some() {
                return Err(StoreError::InvalidState(format!(
                    "folder `{folder_id}` cannot be moved into `{parent}`, which is itself or stands below it"
                )));
            }
        }
        let parent_folder_id = parent_folder_id.map(FolderId::to_string);
        if row.parent_folder_id == parent_folder_id {
            return row.try_into();
        }
        let row = folder::Model { parent_folder_id, ..row };
        finish(write, row, TreeChange::FolderMoved).await
    }

    /// Deletes a folder: its document is archived, its folders and threads move to its parent.
    pub async fn delete_folder(
        &self,
        workspace_id: &WorkspaceId,
        folder_id: &FolderId,
        actor: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut write = self.write(workspace_id, actor).await?;
        let row = write.folder(folder_id).await?;
        let scope = Scope::folder(workspace_id.clone(), folder_id.clone());
        if let Some(document) = write.live_document(&scope).await? {
            write.archive(document).await?;
        }
        folder::Entity::update_many()
            .col_expr(folder::Column::ParentFolderId, Expr::value(row.parent_folder_id.clone()))
            .col_expr(folder::Column::UpdatedAt, Expr::value(write.now.milliseconds()))
            .filter(folder::Column::ParentFolderId.eq(folder_id.as_str()))
            .filter(folder::Column::DeletedAt.is_null())
            .exec(&write.transaction)
            .await?;
        let placed_here = placement::Column::FolderId.eq(folder_id.as_str());
        match &row.parent_folder_id {
            Some(parent) => {
                placement::Entity::update_many()
                    .col_expr(placement::Column::FolderId, Expr::value(parent.clone()))
                    .filter(placed_here)
                    .exec(&write.transaction)
                    .await?;
            }
            None => {
                placement::Entity::delete_many().filter(placed_here).exec(&write.transaction).await?;
            }
        }
        let row = folder::Model { deleted_at: Some(write.now.milliseconds()), ..row };
        finish(write, row, TreeChange::FolderDeleted).await?;
        Ok(())
    }
}

/// Writes a folder's changed row and commits.
async fn finish(
    mut write: WorkspaceWrite<'_>,
    row: folder::Model,
    reason: TreeChange,
) -> Result<Folder, StoreError> {
    let row = folder::Model { updated_at: write.now.milliseconds(), ..row };
    folder::Entity::update(row.clone().into_active_model().reset_all())
        .validate()?
        .exec(&write.transaction)
        .await?;
    let folder = Folder::try_from(row)?;
    write.tree_changed(reason, Some(folder.id.clone()), None)?;
    write.commit().await?;
    Ok(folder)
}
