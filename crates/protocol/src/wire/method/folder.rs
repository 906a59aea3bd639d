//! Parameters and results about folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DeletedFolder, Document, Folder, FolderId, Warning, WorkspaceId};

/// Takes a folder's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderCreateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder to make it in; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
    /// What people call it.
    pub name: String,
}

/// Takes a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder.
    pub folder_id: FolderId,
}

/// Takes a folder and its new name.
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

/// Takes a folder and its new place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderMoveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder.
    pub folder_id: FolderId,
    /// The folder to move it into; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
}

/// Takes a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FolderDeletedParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Answers with a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderResult {
    /// The folder.
    pub folder: Folder,
}

/// Answers that a folder is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderDeleteResult {
    /// Always true; a folder that does not exist is an error.
    pub deleted: bool,
}

/// Answers with deleted folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderDeletedResult {
    /// The last one deleted first.
    pub folders: Vec<DeletedFolder>,
}

/// Answers with a folder that is back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderRestoreResult {
    /// The folder, where it is now.
    pub folder: Folder,
    /// The document that came back with it, as a new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<Document>,
    /// What is not as it was before the folder was deleted.
    pub warnings: Vec<Warning>,
}

super::in_workspace!(
    FolderCreateParams,
    FolderGetParams,
    FolderRenameParams,
    FolderMoveParams,
    FolderDeletedParams,
);
