//! Parameters and results of folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DeletedFolder, Document, Folder, FolderId, Warning, WorkspaceId};

/// Fields of a new folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderCreateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Parent folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
    /// Display name.
    pub name: String,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder.
    pub folder_id: FolderId,
}

/// New name of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderRenameParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder.
    pub folder_id: FolderId,
    /// The new name.
    pub name: String,
}

/// New parent of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderMoveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder.
    pub folder_id: FolderId,
    /// Parent folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
}

/// Workspace whose deleted folders to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderDeletedParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderResult {
    /// The folder.
    pub folder: Folder,
}

/// Confirmation of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderDeleteResult {
    /// Always true. A folder that does not exist is an error.
    pub deleted: bool,
}

/// Deleted folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderDeletedResult {
    /// Folders, most recently deleted first.
    pub folders: Vec<DeletedFolder>,
}

/// A restored folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderRestoreResult {
    /// The folder in its current place.
    pub folder: Folder,
    /// Document restored with it, as a new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<Document>,
    /// Differences from the folder before its deletion.
    // The tree may have changed since the deletion, so a restored folder is not always where it was.
    pub warnings: Vec<Warning>,
}

super::in_workspace!(
    FolderCreateParams,
    FolderGetParams,
    FolderRenameParams,
    FolderMoveParams,
    FolderDeletedParams,
);
