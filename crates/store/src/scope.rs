//! A place that can have a document: the workspace root or a folder.

use protocol::{FolderId, WorkspaceId};
use sea_orm::{ColumnTrait, Condition};

use crate::entity::{document, revision};

/// A workspace's root, or one of its folders.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; none for the root.
    pub folder_id: Option<FolderId>,
}

impl Scope {
    /// The root of a workspace.
    pub fn root(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, folder_id: None }
    }

    /// A folder of a workspace.
    pub fn folder(workspace_id: WorkspaceId, folder_id: FolderId) -> Self {
        Self { workspace_id, folder_id: Some(folder_id) }
    }

    pub(crate) fn folder_column(&self) -> Option<String> {
        self.folder_id.clone().map(String::from)
    }

    /// Selects this scope's documents.
    pub(crate) fn documents(&self) -> Condition {
        let folder = match &self.folder_id {
            Some(id) => document::Column::FolderId.eq(id.as_str()),
            None => document::Column::FolderId.is_null(),
        };
        Condition::all().add(document::Column::WorkspaceId.eq(self.workspace_id.as_str())).add(folder)
    }

    /// Selects this scope's revisions.
    pub(crate) fn revisions(&self) -> Condition {
        let folder = match &self.folder_id {
            Some(id) => revision::Column::FolderId.eq(id.as_str()),
            None => revision::Column::FolderId.is_null(),
        };
        Condition::all().add(revision::Column::WorkspaceId.eq(self.workspace_id.as_str())).add(folder)
    }
}
