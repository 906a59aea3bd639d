//! What a gateway tells its subscribers. Content-free: clients fetch what they show.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ApprovalDecision, CallEffects, ContentHash, DocumentSummary, FolderId, Sequence, SystemReminderType,
    ThreadId, Timestamp, TurnId, WorkspaceId,
};

/// A notification: its method name and its parameters.
pub trait Notification: Serialize + DeserializeOwned + JsonSchema {
    /// The JSON-RPC method.
    const NAME: &'static str;
}

/// When a change was made, and by whom. Every notification with a `seq` has these fields beside its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeOrigin {
    /// When it was made, by the clock of the database.
    pub changed_at: Timestamp,
    /// The token that made it; absent where a gateway did by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
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
    /// The workspace was archived: it is no longer listed, and its name is free.
    WorkspaceArchived,
    /// An archived workspace is back.
    WorkspaceRestored,
    /// A folder was made.
    FolderCreated,
    /// A folder has another name.
    FolderRenamed,
    /// A folder was moved.
    FolderMoved,
    /// A folder was deleted; what it held moved to its parent.
    FolderDeleted,
    /// A deleted folder is back.
    FolderRestored,
    /// A thread was made.
    ThreadCreated,
    /// A thread has another title.
    ThreadRenamed,
    /// A thread was moved.
    ThreadMoved,
    /// A thread was archived.
    ThreadArchived,
    /// A document appeared, disappeared, or became a draft or active.
    AgentsDoc,
}

/// Workspace, folders or threads changed, or which documents there are.
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
    ($($(#[$doc:meta])* $type:ident = $name:literal { $($(#[$field_doc:meta])* $field:ident: $field_type:ty),* $(,)? })*) => {$(
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
            $($(#[$field_doc])* pub $field: $field_type,)*
        }

        impl Notification for $type {
            const NAME: &'static str = $name;
        }
    )*};
}

turn_notifications! {
    /// A thread's turn began.
    TurnStarted = "turn/started" {
        /// The turn that delegated it; absent for one that a person began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_turn_id: Option<TurnId>,
    }
    /// A model is asked, with a prompt whose manifest is kept.
    TurnManifestKept = "turn/manifest" {
        /// Which time the model is asked in this turn, from 1.
        round: u32,
    }
    /// A tool was called by the model.
    TurnToolStarted = "turn/tool_started" {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
    }
    /// A tool call waits for somebody to decide; `turn/get` has all of what it would do.
    TurnApprovalRequested = "turn/approval_requested" {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// SHA-256 of exactly what would run, to be sent with the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<ContentHash>,
        /// Whether the file it would write is not there yet.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_file: bool,
        /// How many lines it removes or replaces in a file that is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces_lines: Option<u64>,
    }
    /// Somebody decided about a tool call.
    TurnApprovalDecided = "turn/approval_decided" {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What was decided, and by whom.
        #[serde(flatten)]
        decision: ApprovalDecision,
    }
    /// A tool has answered.
    TurnToolFinished = "turn/tool_finished" {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// Types of the reminders at the end of its result.
        reminders: Vec<SystemReminderType>,
        /// What it did besides.
        #[serde(flatten)]
        effects: CallEffects,
    }
    /// Earlier turns no longer fit and are being summarised.
    ContextCompressing = "context/compressing" {}
    /// Earlier turns were left out of what the model reads.
    ContextCompressed = "context/compressed" {
        /// Turns up to this ordinal are left out.
        through: u64,
        /// Whether a summary replaces them.
        summarised: bool,
        /// Of those that are left out, the ones after this ordinal are in no summary either; absent: all are in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing_after: Option<u64>,
    }
    /// A turn has its answer.
    TurnCompleted = "turn/completed" {}
    /// A turn ended without an answer.
    TurnFailed = "turn/failed" {}
    /// A turn was stopped.
    TurnCancelled = "turn/cancelled" {}
}

/// More of a turn's answer. It has no place in the change log and goes only to the connections that started the
/// turn or watch it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDelta {
    /// The turn.
    pub turn_id: TurnId,
    /// Counts the pieces of a turn's answer from 0, through all its rounds.
    pub index: u64,
    /// What comes after the answer so far; all pieces together are the answer.
    pub text: String,
}

impl TurnDelta {
    /// The JSON-RPC method.
    pub const NAME: &'static str = "turn/delta";
}

/// A provider has failed and is asked again. It has no place in the change log and goes only to the connections that
/// started the turn or watch it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRetrying {
    /// The turn.
    pub turn_id: TurnId,
    /// How many times it was asked.
    pub attempt: u32,
    /// Milliseconds until it is asked again.
    pub delay_ms: u64,
    /// What it said.
    pub message: String,
}

impl TurnRetrying {
    /// The JSON-RPC method.
    pub const NAME: &'static str = "turn/retrying";
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

macro_rules! table {
    ($($type:ident: $summary:literal;)*) => {
        /// Every notification.
        pub const NOTIFICATIONS: &[NotificationSpec] = &[$(
            NotificationSpec {
                name: $type::NAME,
                summary: $summary,
                params_type: stringify!($type),
                params_schema: SchemaGenerator::into_root_schema_for::<$type>,
            },
        )*];
    };
}

table! {
    DocumentChanged: "A scope's document was saved, restored or archived.";
    TreeChanged: "Workspace, folders or threads changed, or which documents there are.";
    TurnStarted: "A thread's turn began.";
    TurnManifestKept: "A model is asked, with a prompt whose manifest is kept.";
    TurnDelta: "More of a turn's answer, without a place in the change log, to the connections that started the turn or watch it.";
    TurnRetrying: "A provider is asked again; without a place in the change log, to the connections that started the turn or watch it.";
    TurnToolStarted: "A tool was called by the model.";
    TurnApprovalRequested: "A tool call waits for somebody to decide; `turn/get` has all of what it would do.";
    TurnApprovalDecided: "Somebody decided about a tool call.";
    TurnToolFinished: "A tool has answered.";
    ContextCompressing: "Earlier turns no longer fit and are being summarised.";
    ContextCompressed: "Earlier turns were left out of what the model reads.";
    TurnCompleted: "A turn has its answer.";
    TurnFailed: "A turn ended without an answer.";
    TurnCancelled: "A turn was stopped.";
}
