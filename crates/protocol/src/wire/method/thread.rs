//! Parameters and results of threads and the tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    DocumentSummary, Folder, FolderId, Placement, Sequence, Thread, ThreadId, ThreadMode, ThreadSummary,
    WorkspaceId,
};

/// Fields of a new thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadCreateParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Folder of the thread; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Display name.
    pub title: String,
    /// Mode of the thread.
    #[serde(default)]
    pub mode: ThreadMode,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadGetParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// New title of a thread.
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

/// New folder of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadMoveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Folder of the thread; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
}

/// Part of a workspace's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadTreeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Folder to start from; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Levels of folders to descend; 0 for direct children only; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Most threads per folder; absent for all. `thread/list` returns the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_limit: Option<u32>,
}

impl ThreadTreeParams {
    /// Requests the whole tree of a workspace.
    pub fn whole(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, folder_id: None, depth: None, thread_limit: None }
    }

    /// Requests the folders and documents of a workspace, without its threads.
    pub fn without_threads(workspace_id: WorkspaceId) -> Self {
        Self { thread_limit: Some(0), ..Self::whole(workspace_id) }
    }

    /// Returns true if the whole tree is requested.
    pub fn is_whole(&self) -> bool {
        self.folder_id.is_none() && self.depth.is_none() && self.thread_limit.is_none()
    }
}

/// Page of a folder's threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Id to continue after: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ThreadId>,
    /// Most threads, from 1 to 1000.
    pub limit: u32,
}

/// Page of a folder's threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadListResult {
    /// Threads that are not archived, oldest first.
    pub threads: Vec<ThreadSummary>,
    /// Value of `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ThreadId>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadResult {
    /// The thread.
    pub thread: Thread,
}

/// A tree at one point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTreeResult {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Newest change contained in the tree. Pass it as `since` to follow from here.
    // Read in the same moment as the tree. A subscription that starts here neither misses nor repeats a
    // change.
    pub seq: Sequence,
    /// Folders, oldest first.
    pub folders: Vec<Folder>,
    /// Threads that are not archived, oldest first.
    pub threads: Vec<ThreadSummary>,
    /// Folder of each thread that is not at the workspace root.
    pub placements: Vec<Placement>,
    /// Draft and active documents.
    pub agents_docs: Vec<DocumentSummary>,
    /// Numbers of entries left out because of `depth` and `thread_limit`, by folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<TreeMore>,
}

/// Entries of one folder that are left out of a partial tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeMore {
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Number of omitted threads directly in it.
    pub threads: u64,
    /// Number of omitted folders directly in it.
    // Zero is left out, since most partial trees omit only threads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folders: u64,
}

fn is_zero(count: &u64) -> bool {
    // The reference is part of the signature that serde expects.
    *count == 0
}

super::in_workspace!(
    ThreadCreateParams,
    ThreadGetParams,
    ThreadRenameParams,
    ThreadMoveParams,
    ThreadTreeParams,
    ThreadListParams,
);
