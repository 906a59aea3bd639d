//! Folders of the thread tree.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::notification::TreeChange;
use protocol::{ErrorSubject, Folder, FolderId, Timestamp, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::validation;
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Scope, Store, StoreError};

/// Returns a row if the folder `$2` is `$1` or below it.
const IS_BELOW: &str = "
WITH RECURSIVE ancestry(id, parent_id) AS (
    SELECT id, parent_folder_id FROM folder WHERE id = $2
    UNION ALL
    SELECT f.id, f.parent_folder_id FROM ancestry a JOIN folder f ON f.id = a.parent_id
)
SELECT id FROM ancestry WHERE id = $1";

pub(crate) fn read_folder(mut row: Columns<'_>) -> Result<Folder, StoreError> {
    read_folder_columns(&mut row)
}

/// Reads a folder from a row that continues with other columns.
pub(crate) fn read_folder_columns(row: &mut Columns<'_>) -> Result<Folder, StoreError> {
    Ok(Folder {
        id: row.next()?,
        workspace_id: row.next()?,
        parent_folder_id: row.next()?,
        name: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
    })
}

/// Returns an existing folder of this workspace.
async fn find(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
) -> Result<Option<Folder>, StoreError> {
    const FOLDER: &str = "SELECT id, workspace_id, parent_folder_id, name, created_at, updated_at FROM folder
        WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL";
    tx.one_by_key(FOLDER, values![folder_id, workspace_id], read_folder).await
}

/// Returns a folder, or the error for a missing one.
pub(crate) async fn find_or_missing(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
) -> Result<Folder, StoreError> {
    match find(tx, workspace_id, folder_id).await? {
        Some(folder) => Ok(folder),
        None => Err(tx.missing(workspace_id, ErrorSubject::Folder, folder_id).await),
    }
}

/// Checks that a folder exists in this workspace, or existed before it was deleted.
pub(crate) async fn check_existed(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
) -> Result<(), StoreError> {
    let select = "SELECT id FROM folder WHERE id = $1 AND workspace_id = $2";
    let found: Option<FolderId> =
        tx.one_by_key(select, values![folder_id, workspace_id], |mut row| row.next()).await?;
    match found {
        Some(_) => Ok(()),
        None => Err(tx.missing(workspace_id, ErrorSubject::Folder, folder_id).await),
    }
}

impl Store {
    pub fn create_folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        parent_folder_id: Option<&'a FolderId>,
        name: &'a str,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Folder, StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO folder (id, workspace_id, parent_folder_id, name, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $5)";
            validation::check("name", name)?;
            let parent_folder_id = parent_folder_id.cloned();
            let name = name.to_owned();
            self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                if let Some(parent) = &parent_folder_id {
                    write.folder(parent).await?;
                }
                let folder = Folder {
                    id: FolderId::new(),
                    workspace_id: write.workspace_id.clone(),
                    parent_folder_id,
                    name,
                    created_at: write.now,
                    updated_at: write.now,
                };
                let parent = folder.parent_folder_id.as_ref();
                let values = values![&folder.id, &folder.workspace_id, parent, &folder.name, write.now];
                write.tx.execute(INSERT, values).await?;
                write.tree_changed(TreeChange::FolderCreated, Some(folder.id.clone()), None)?;
                Ok(folder)
            })
            .await
        })
    }

    pub fn folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        folder_id: &'a FolderId,
    ) -> BoxFuture<'a, Result<Folder, StoreError>> {
        let workspace_id = workspace_id.clone();
        let folder_id = folder_id.clone();
        self.read(async move |tx: &mut Tx<'_>| find_or_missing(tx, &workspace_id, &folder_id).await).boxed()
    }

    pub fn rename_folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        folder_id: &'a FolderId,
        name: &'a str,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Folder, StoreError>> {
        Box::pin(async move {
            validation::check("name", name)?;
            let folder_id = folder_id.clone();
            let name = name.to_owned();
            self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let folder = write.folder(&folder_id).await?;
                if folder.name == name {
                    return Ok(folder);
                }
                write.update_folder(Folder { name, ..folder }, TreeChange::FolderRenamed).await
            })
            .await
        })
    }

    /// Moves a folder into another one or to the workspace root, but never below itself.
    pub fn move_folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        folder_id: &'a FolderId,
        parent_folder_id: Option<&'a FolderId>,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Folder, StoreError>> {
        let folder_id = folder_id.clone();
        let parent_folder_id = parent_folder_id.cloned();
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let folder = write.folder(&folder_id).await?;
            if let Some(parent) = &parent_folder_id {
                write.folder(parent).await?;
                // Under the lock of the workspace, because two concurrent moves could otherwise form a cycle.
                write.check_not_below(&folder_id, parent).await?;
            }
            if folder.parent_folder_id == parent_folder_id {
                return Ok(folder);
            }
            write.update_folder(Folder { parent_folder_id, ..folder }, TreeChange::FolderMoved).await
        })
        .boxed()
    }

    /// Deletes a folder: its document is archived, and its children move to its parent.
    pub fn delete_folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        folder_id: &'a FolderId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let folder_id = folder_id.clone();
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let folder = write.folder(&folder_id).await?;
            let scope = Scope::folder(write.workspace_id.clone(), folder_id);
            let deleted_at = match write.live_document(&scope).await? {
                Some(document) => {
                    write.archive(document).await?;
                    write.now
                }
                // Restoring a folder restores the document that was archived at the same time. Without a live document
                // the deletion gets the next millisecond, so that a document archived in this one is not taken for it.
                None => Timestamp::from_milliseconds(write.now.milliseconds() + 1),
            };
            write.move_out(&folder).await?;
            let delete = "UPDATE folder SET deleted_at = $1, updated_at = $1 WHERE id = $2";
            write.tx.execute(delete, values![deleted_at, &folder.id]).await?;
            write.tree_changed(TreeChange::FolderDeleted, Some(folder.id), None)
        })
        .boxed()
    }
}

impl WorkspaceWrite<'_, '_> {
    /// Returns a folder, unless it is deleted or belongs to another workspace.
    pub(crate) async fn folder(&mut self, folder_id: &FolderId) -> Result<Folder, StoreError> {
        let found = find(self.tx, &self.workspace_id, folder_id).await?;
        found.ok_or_else(|| StoreError::not_found(ErrorSubject::Folder, folder_id))
    }

    async fn check_not_below(&mut self, folder_id: &FolderId, parent: &FolderId) -> Result<(), StoreError> {
        let below: Option<String> =
            self.tx.one_by_key(IS_BELOW, values![folder_id, parent], |mut row| row.next()).await?;
        match below {
            Some(_) => Err(StoreError::InvalidState(format!(
                "folder `{folder_id}` cannot be moved into `{parent}`, which is itself or is below it"
            ))),
            None => Ok(()),
        }
    }

    async fn update_folder(&mut self, folder: Folder, reason: TreeChange) -> Result<Folder, StoreError> {
        let folder = Folder { updated_at: self.now, ..folder };
        let update = "UPDATE folder SET name = $1, parent_folder_id = $2, updated_at = $3 WHERE id = $4";
        let values = values![&folder.name, folder.parent_folder_id.as_ref(), self.now, &folder.id];
        self.tx.execute(update, values).await?;
        self.tree_changed(reason, Some(folder.id.clone()), None)?;
        Ok(folder)
    }
}
