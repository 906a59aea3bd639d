//! The thread tree: workspaces, folders, threads and where threads are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentsConfig, DocumentSummary, FolderId, ThreadId, Timestamp, TurnId, WorkspaceId};

/// A workspace: the unit that is shared, partitioned and given access to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// Identifies the workspace.
    pub id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// The directory on the gateway's machine that its threads work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// How AGENTS.md files on disk are found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsConfig>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its own fields last changed.
    pub updated_at: Timestamp,
    /// When it was archived; absent for one that is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

/// A folder of the thread tree. Names may repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folder {
    /// Identifies the folder.
    pub id: FolderId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The folder it is in; absent at the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_folder_id: Option<FolderId>,
    /// What people call it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its name or place last changed, or when it was deleted.
    pub updated_at: Timestamp,
}

/// A folder that was deleted and can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedFolder {
    /// The folder as it was; the folder it was in may be deleted too.
    #[serde(flatten)]
    pub folder: Folder,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// The document that restoring it brings back, as it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<DocumentSummary>,
}

/// How a thread answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadMode {
    /// The compiled prompt and no tools.
    #[default]
    Chat,
    /// The compiled prompt and tools.
    Agent,
}

/// A thread and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Identifies the thread.
    pub id: ThreadId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The folder it is in; absent at the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// What people call it.
    pub title: String,
    /// How it answers.
    pub mode: ThreadMode,
    /// The thread that delegated its work to it; absent for one that a person made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
    /// The turn of that thread that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
    /// Whether a delegated thread gets the document of its place in the tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherits_document: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its title or place last changed.
    pub updated_at: Timestamp,
    /// When it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

/// A thread as `thread/tree` lists it; its place is in the tree's placements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSummary {
    /// Identifies the thread.
    pub id: ThreadId,
    /// What people call it.
    pub title: String,
    /// How it answers.
    pub mode: ThreadMode,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its title or place last changed.
    pub updated_at: Timestamp,
    /// The thread that delegated its work to it; absent for one that a person made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<ThreadId>,
    /// The turn of that thread that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
}

/// Puts a thread into a folder; a thread without a placement is at the workspace root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// The thread.
    pub thread_id: ThreadId,
    /// The folder it is in.
    pub folder_id: FolderId,
}
