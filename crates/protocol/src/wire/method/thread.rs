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

/// Takes the workspace whose tree is wanted, or how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadTreeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Only what is below this folder; absent: from the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// How many levels of folders to descend; 0: only what is directly in the place; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// At most this many threads of each folder; absent: all. `thread/list` has the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_limit: Option<u32>,
}

impl ThreadTreeParams {
    /// Asks for the whole tree of a workspace.
    pub fn whole(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, folder_id: None, depth: None, thread_limit: None }
    }

    /// Asks for the folders and documents of a workspace, without its threads.
    pub fn without_threads(workspace_id: WorkspaceId) -> Self {
        Self { thread_limit: Some(0), ..Self::whole(workspace_id) }
    }

    /// Whether the whole tree is asked for.
    pub fn is_whole(&self) -> bool {
        self.folder_id.is_none() && self.depth.is_none() && self.thread_limit.is_none()
    }
}

/// Takes a folder whose threads are wanted, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadListParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Only threads after this one, such as `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ThreadId>,
    /// How many, 1 to 1000.
    pub limit: u32,
}

/// Answers with some threads of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadListResult {
    /// Threads that are not archived, oldest first.
    pub threads: Vec<ThreadSummary>,
    /// What to pass as `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ThreadId>,
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
    /// Which thread is in which folder.
    pub placements: Vec<Placement>,
    /// Drafts and active documents.
    pub agents_docs: Vec<DocumentSummary>,
    /// What `depth` and `thread_limit` left out, by folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<TreeMore>,
}

/// What a part of a tree leaves out of one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeMore {
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Threads directly in it that are left out.
    pub threads: u64,
    /// Folders directly in it that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folders: u64,
}

fn is_zero(count: &u64) -> bool {
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
