//! The thread tree: workspaces, folders, threads and their placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentsConfig, DocumentSummary, FolderId, ThreadId, Timestamp, TurnId, WorkspaceId};

/// A workspace: the unit of sharing, partitioning and access control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// Id of the workspace.
    pub id: WorkspaceId,
    /// Display name.
    pub name: String,
    /// Directory on the gateway's machine in which its threads work; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// Settings for AGENTS.md files on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change to its own fields.
    pub updated_at: Timestamp,
    /// Time at which it was archived; absent for a listed workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

/// A folder of the thread tree. Names may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folder {
    /// Id of the folder.
    pub id: FolderId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Parent folder; absent at the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
    /// Display name.
    pub name: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last rename, move or deletion.
    pub updated_at: Timestamp,
}

/// A deleted folder that can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedFolder {
    /// The folder as it was. Its parent may be deleted too.
    #[serde(flatten)]
    pub folder: Folder,
    /// Time of the deletion.
    pub deleted_at: Timestamp,
    /// Archived document that a restore brings back.
    // Shown before a restore, which makes this document effective again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<DocumentSummary>,
}

/// Mode of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadMode {
    /// Compiled prompt without tools.
    #[default]
    Chat,
    /// Compiled prompt with tools.
    Agent,
}

/// A thread and its placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Id of the thread.
    pub id: ThreadId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Folder of the thread; absent at the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Display name.
    pub title: String,
    /// Mode of the thread.
    pub mode: ThreadMode,
    /// Thread that delegated work to it; absent for a thread that a person created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
    /// Turn that delegated work to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
    /// True if a delegated thread receives the document of its scope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherits_document: bool,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last rename or move.
    pub updated_at: Timestamp,
    /// Time at which it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

/// A thread as listed by `thread/tree`. Its folder is in the tree's placements.
// A separate type without `folder_id`: two sources for the folder of a thread could disagree when a client
// applies changes to a loaded tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSummary {
    /// Id of the thread.
    pub id: ThreadId,
    /// Display name.
    pub title: String,
    /// Mode of the thread.
    pub mode: ThreadMode,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last rename or move.
    pub updated_at: Timestamp,
    /// Thread that delegated work to it; absent for a thread that a person created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
    /// Turn that delegated work to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
}

/// Placement of a thread in a folder. A thread without a placement is at the workspace root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// The thread.
    pub thread_id: ThreadId,
    /// The folder.
    pub folder_id: FolderId,
}
