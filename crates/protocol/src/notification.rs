//! What a gateway tells its subscribers. Content-free: clients fetch what they show.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{DocumentSummary, FolderId, Sequence, ThreadId, TurnId, WorkspaceId};

/// A notification: its method name and its parameters.
pub trait Notification: Serialize + DeserializeOwned + JsonSchema {
    /// The JSON-RPC method.
    const NAME: &'static str;
}

/// A scope's document was saved, restored or archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentChanged {
    /// Position in the workspace's change log.
    pub seq: Sequence,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The scope's folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The document as it is now; absent when it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<DocumentSummary>,
    /// Whether agents in this scope now get another text.
    pub effective_changed: bool,
}

impl Notification for DocumentChanged {
    const NAME: &'static str = "thread/agents_doc/changed";
}

/// Why the tree changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeChange {
    /// The workspace was made.
    WorkspaceCreated,
    /// The workspace's own fields changed.
    WorkspaceUpdated,
    /// A folder was made.
    FolderCreated,
    /// A folder has another name.
    FolderRenamed,
    /// A folder stands elsewhere.
    FolderMoved,
    /// A folder is gone; what it held stands in its parent.
    FolderDeleted,
    /// A thread was made.
    ThreadCreated,
    /// A thread has another title.
    ThreadRenamed,
    /// A thread stands elsewhere.
    ThreadMoved,
    /// A thread was archived.
    ThreadArchived,
}

/// Workspace, folders or threads changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeChanged {
    /// Position in the workspace's change log.
    pub seq: Sequence,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// What happened.
    pub reason: TreeChange,
    /// The folder it happened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The thread it happened to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

impl Notification for TreeChanged {
    const NAME: &'static str = "thread/tree/changed";
}

macro_rules! turn_notifications {
    ($($(#[$doc:meta])* $type:ident = $name:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            /// Position in the workspace's change log.
            pub seq: Sequence,
            /// The workspace.
            pub workspace_id: WorkspaceId,
            /// The thread.
            pub thread_id: ThreadId,
            /// The turn.
            pub turn_id: TurnId,
        }

        impl Notification for $type {
            const NAME: &'static str = $name;
        }
    )*};
}

// The store logs them with every turn. They get their rows in `NOTIFICATIONS` together with the methods that start
// turns: a row is a promise that a client can meet the notification.
turn_notifications! {
    /// A thread's turn began.
    TurnStarted = "turn/started",
    /// A turn has its answer.
    TurnCompleted = "turn/completed",
    /// A turn ended without an answer.
    TurnFailed = "turn/failed",
    /// A turn was stopped.
    TurnCancelled = "turn/cancelled",
}

/// One row of the table of notifications.
pub struct NotificationSpec {
    /// The JSON-RPC method.
    pub name: &'static str,
    /// When it is sent.
    pub summary: &'static str,
    /// Name of the parameters' type.
    pub params_type: &'static str,
    /// Adds the parameters' schema to a generator.
    pub params_schema: fn(SchemaGenerator) -> schemars::Schema,
}

/// Every notification.
pub const NOTIFICATIONS: &[NotificationSpec] = &[
    NotificationSpec {
        name: DocumentChanged::NAME,
        summary: "A scope's document was saved, restored or archived.",
        params_type: "DocumentChanged",
        params_schema: SchemaGenerator::into_root_schema_for::<DocumentChanged>,
    },
    NotificationSpec {
        name: TreeChanged::NAME,
        summary: "Workspace, folders or threads changed.",
        params_type: "TreeChanged",
        params_schema: SchemaGenerator::into_root_schema_for::<TreeChanged>,
    },
];
