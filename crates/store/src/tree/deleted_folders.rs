//! Deleted folders and how they are restored.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::notification::TreeChange;
use protocol::{
    DeletedFolder, Document, DocumentSummary, ErrorSubject, Folder, FolderId, RevisionReason, Timestamp,
    WorkspaceId,
};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::documents::document::{Text, document_columns, read_document};
use crate::tree::folders::read_folder_columns;
use crate::tree::relocated_children::{RelocatedChildren, StoredChildren};
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Scope, Store, StoreError};

/// Joins the document `d` that was archived because its folder `f` was deleted.
// Both changes have the same time. A document that was archived earlier is not part of the deletion.
macro_rules! with_its_document {
    () => {
        "LEFT JOIN thread_agents_doc_revision r ON r.workspace_id = f.workspace_id AND r.folder_id = f.id
            AND r.save_reason = 'archive' AND r.saved_at = f.deleted_at AND NOT EXISTS (
                SELECT 1 FROM thread_agents_doc_revision n
                WHERE n.workspace_id = f.workspace_id AND n.folder_id = f.id AND n.version > r.version)
        LEFT JOIN thread_agents_doc d ON d.id = r.doc_id"
    };
}

/// The deleted folders of the workspace `$1`.
const DELETED: &str = concat!(
    "SELECT f.id, f.workspace_id, f.parent_folder_id, f.name, f.created_at, f.updated_at, f.deleted_at,
        d.id, d.status, d.content_sha256, d.version, d.char_count, d.updated_at
    FROM folder f ",
    with_its_document!(),
    " WHERE f.workspace_id = $1 AND f.deleted_at IS NOT NULL ORDER BY f.deleted_at DESC, f.id DESC"
);

/// The folder `$2` of the workspace `$1`, deleted or not, and the document that was deleted with it.
const FOLDER_WITH_DOCUMENT: &str = concat!(
    "SELECT f.id, f.workspace_id, f.parent_folder_id, f.name, f.created_at, f.updated_at, f.deleted_at, f.moved_out, ",
    document_columns!(),
    " FROM folder f ",
    with_its_document!(),
    " WHERE f.id = $2 AND f.workspace_id = $1"
);

/// Selects the nearest folder above `$1` that is not deleted.
// A deleted folder keeps its parent, which can only have been deleted after it, because deleting a folder moves its
// children out. So the recursion ends.
const LIVING_ANCESTOR: &str = "
WITH RECURSIVE ancestry(depth, id, parent_id, deleted_at) AS (
    SELECT CAST(0 AS BIGINT), id, parent_folder_id, deleted_at FROM folder WHERE id = $1
    UNION ALL
    SELECT a.depth + 1, f.id, f.parent_folder_id, f.deleted_at FROM ancestry a JOIN folder f ON f.id = a.parent_id
)
SELECT id FROM ancestry WHERE deleted_at IS NULL ORDER BY depth LIMIT 1";

/// A restored folder, and how it differs from before its deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFolder {
    /// In its current place.
    pub folder: Folder,
    /// The document that was restored with it.
    pub document: Option<Document>,
    /// Former children, which stay where they are.
    pub moved_out: Option<RelocatedChildren>,
    /// Set if its former parent is deleted, so that it has another one now.
    pub parent_deleted: bool,
    /// Set if another folder beside it has the same name.
    pub name_repeats: bool,
}

impl Store {
    /// Returns the deleted folders of a workspace, the last one first.
    pub fn deleted_folders<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
    ) -> BoxFuture<'a, Result<Vec<DeletedFolder>, StoreError>> {
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.sequence(&workspace_id).await?;
            tx.all(DELETED, values![&workspace_id], read_deleted).await
        })
        .boxed()
    }

    /// Restores a deleted folder below its nearest living ancestor, with the document that was archived with it. Its
    /// former folders and threads stay where they are.
    pub fn restore_folder<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        folder_id: &'a FolderId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<RestoredFolder, StoreError>> {
        Box::pin(async move {
            let folder_id = folder_id.clone();
            self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let values = values![&write.workspace_id, &folder_id];
            let found = write.tx.one_by_key(FOLDER_WITH_DOCUMENT, values, read_with_document).await?;
            let Deleted { folder: before, deleted_at, moved_out, document } =
                found.ok_or_else(|| StoreError::not_found(ErrorSubject::Folder, &folder_id))?;
            if deleted_at.is_none() {
                return Err(StoreError::InvalidState(format!("folder `{folder_id}` is not deleted")));
            }
            let parent_folder_id =
                write.tx.one_by_key(LIVING_ANCESTOR, values![&folder_id], |mut row| row.next()).await?;
            // The former parent is kept in the row, so a difference means that it is deleted.
            let parent_deleted = parent_folder_id != before.parent_folder_id;
            let folder = Folder { parent_folder_id, updated_at: write.now, ..before };
            let name_repeats = write.has_sibling_of_same_name(&folder).await?;
            let restore =
                "UPDATE folder SET deleted_at = NULL, moved_out = NULL, parent_folder_id = $1, updated_at = $2 WHERE id = $3";
            let values = values![folder.parent_folder_id.as_ref(), write.now, &folder.id];
            write.tx.execute(restore, values).await?;
            write.tree_changed(TreeChange::FolderRestored, Some(folder_id.clone()), None)?;
            let document = match document {
                Some(document) => {
                    let scope = Scope::folder(write.workspace_id.clone(), folder_id);
                    let text = Text::new(&document.content)?;
                    Some(write.put(&scope, None, text, None, &RevisionReason::Restore.into()).await?)
                }
                None => None,
            };
            let moved_out = match &moved_out {
                Some(stored) => Some(write.moved_out(stored).await?),
                None => None,
            };
            Ok(RestoredFolder { folder, document, moved_out, parent_deleted, name_repeats })
        })
        .await
        })
    }
}

impl WorkspaceWrite<'_, '_> {
    async fn has_sibling_of_same_name(&mut self, folder: &Folder) -> Result<bool, StoreError> {
        let place = match folder.parent_folder_id {
            Some(_) => "parent_folder_id = $4",
            None => "parent_folder_id IS NULL AND CAST($4 AS TEXT) IS NULL",
        };
        let select = format!(
            "SELECT id FROM folder WHERE workspace_id = $1 AND name = $2 AND id <> $3 AND deleted_at IS NULL AND {place}
            LIMIT 1"
        );
        let parent = folder.parent_folder_id.as_ref();
        let values = values![&folder.workspace_id, &folder.name, &folder.id, parent];
        let sibling: Option<FolderId> = self.tx.one_by_key(select, values, |mut row| row.next()).await?;
        Ok(sibling.is_some())
    }
}

fn read_deleted(mut row: Columns<'_>) -> Result<DeletedFolder, StoreError> {
    let folder = read_folder_columns(&mut row)?;
    let deleted_at = row.next()?;
    let doc = if row.is_null()? {
        None
    } else {
        Some(DocumentSummary {
            id: row.next()?,
            workspace_id: folder.workspace_id.clone(),
            folder_id: Some(folder.id.clone()),
            status: row.next()?,
            content_sha256: row.next()?,
            version: row.next()?,
            char_count: row.next()?,
            updated_at: row.next()?,
        })
    };
    Ok(DeletedFolder { folder, deleted_at, doc })
}

/// A folder that may be deleted, and what was deleted with it.
struct Deleted {
    folder: Folder,
    deleted_at: Option<Timestamp>,
    moved_out: Option<StoredChildren>,
    document: Option<Document>,
}

fn read_with_document(mut row: Columns<'_>) -> Result<Deleted, StoreError> {
    let folder = read_folder_columns(&mut row)?;
    let deleted_at = row.next()?;
    let moved_out = row.optional_json("what moved out of a folder")?;
    let document = if row.is_null()? { None } else { Some(read_document(row)?) };
    Ok(Deleted { folder, deleted_at, moved_out, document })
}
