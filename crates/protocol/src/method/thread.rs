//! Parameters and results about threads and the tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    DocumentSummary, Folder, FolderId, Placement, Sequence, Thread, ThreadId, ThreadMode, ThreadSummary,
    WorkspaceId,
};

/// Takes a thread's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadCreateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder to make it in; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// What people call it.
    pub title: String,
    /// How it answers.
    #[serde(default)]
    pub mode: ThreadMode,
}

/// Takes a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// Takes a thread and its new title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadRenameParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The new title.
    pub title: String,
}

/// Takes a thread and its new place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadMoveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// The folder to move it into; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
}

/// Takes the workspace whose tree is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadTreeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
}

/// Answers with a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadResult {
    /// The thread.
    pub thread: Thread,
}

/// Answers with the tree, all from one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTreeResult {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The newest change this tree contains; pass it as `since` to follow from here.
    pub seq: Sequence,
    /// Folders, oldest first.
    pub folders: Vec<Folder>,
    /// Threads that are not archived, oldest first.
    pub threads: Vec<ThreadSummary>,
    /// Which thread stands in which folder.
    pub placements: Vec<Placement>,
    /// Drafts and active documents.
    pub agents_docs: Vec<DocumentSummary>,
}

super::in_workspace!(
    ThreadCreateParams,
    ThreadGetParams,
    ThreadRenameParams,
    ThreadMoveParams,
    ThreadTreeParams,
);
