//! Notifications for subscribers. They carry no content: clients fetch what they show.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ApprovalDecision, CallEffects, ContentHash, DocumentSummary, FolderId, Sequence, SystemReminderType,
    ThreadId, Timestamp, TurnId, WorkspaceId,
};

/// A notification: method name and parameters.
pub trait Notification: Serialize + DeserializeOwned + JsonSchema {
    /// The JSON-RPC method.
    const NAME: &'static str;
}

/// Time and author of a change. Every notification with a `seq` has these fields as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeOrigin {
    /// Time of the change, by the database's clock.
    pub changed_at: Timestamp,
    /// Name of the token that made the change; absent for a gateway's own changes.
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
    /// Folder of the scope; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The current document; absent if it was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<DocumentSummary>,
    /// True if the effective text of the scope changed.
    pub effective_changed: bool,
}

impl Notification for DocumentChanged {
    const NAME: &'static str = "thread/agents_doc/changed";
}

/// Kind of a change to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeChange {
    /// The workspace was created.
    WorkspaceCreated,
    /// The workspace's own fields changed.
    WorkspaceUpdated,
    /// The workspace was archived: it is no longer listed, and its name is free.
    WorkspaceArchived,
    /// An archived workspace was restored.
    WorkspaceRestored,
    /// A folder was created.
    FolderCreated,
    /// A folder was renamed.
    FolderRenamed,
    /// A folder was moved.
    FolderMoved,
    /// A folder was deleted; its contents moved to its parent.
    FolderDeleted,
    /// A deleted folder was restored.
    FolderRestored,
    /// A thread was created.
    ThreadCreated,
    /// A thread was renamed.
    ThreadRenamed,
    /// A thread was moved.
    ThreadMoved,
    /// A thread was archived.
    ThreadArchived,
    /// A document was created or archived, or switched between draft and active.
    AgentsDoc,
}

/// The workspace, its folders, threads or set of documents changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeChanged {
    /// Position in the workspace's change log.
    pub seq: Sequence,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Kind of change.
    pub reason: TreeChange,
    /// Changed folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Changed thread.
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
    /// A turn started.
    TurnStarted = "turn/started" {
        /// The delegating turn; absent for a turn that a person started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_turn_id: Option<TurnId>,
    }
    /// A model was called with a prompt whose manifest is stored.
    TurnManifestKept = "turn/manifest" {
        /// Number of the round in its turn, from 1.
        round: u32,
    }
    /// A tool call started.
    TurnToolStarted = "turn/tool_started" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
    }
    /// A tool call requires approval; `turn/get` returns the complete request.
    TurnApprovalRequested = "turn/approval_requested" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// SHA-256 of exactly what would run, to be sent with the decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<ContentHash>,
        /// True if the call would create the file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_file: bool,
        /// Number of existing lines that the call removes or replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces_lines: Option<u64>,
    }
    /// An approval was decided.
    TurnApprovalDecided = "turn/approval_decided" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// The decision and its author.
        #[serde(flatten)]
        decision: ApprovalDecision,
    }
    /// A tool call finished.
    TurnToolFinished = "turn/tool_finished" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// True if it failed.
        is_error: bool,
        /// Types of the reminders at the end of its result.
        reminders: Vec<SystemReminderType>,
        /// Side effects of the call.
        #[serde(flatten)]
        effects: CallEffects,
    }
    /// Earlier turns exceed their budget and are being summarized.
    ContextCompressing = "context/compressing" {}
    /// Earlier turns were left out of the request.
    ContextCompressed = "context/compressed" {
        /// Ordinal up to which turns are left out.
        through: u64,
        /// True if a summary replaces them.
        summarised: bool,
        /// Ordinal after which omitted turns are not covered by a summary either; absent if all are covered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing_after: Option<u64>,
    }
    /// A turn completed with an answer.
    TurnCompleted = "turn/completed" {}
    /// A turn ended without an answer.
    TurnFailed = "turn/failed" {}
    /// A turn was stopped.
    TurnCancelled = "turn/cancelled" {}
}

/// A piece of a turn's answer. It is not part of the change log and is sent only to connections that started
/// or watch the turn.
// Not logged: an answer arrives in hundreds of pieces, and its complete text is stored with the turn anyway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDelta {
    /// The turn.
    pub turn_id: TurnId,
    /// Index of the piece, from 0 through all rounds of the turn.
    pub index: u64,
    /// Text that follows the answer so far. All pieces together are the answer.
    pub text: String,
}

impl TurnDelta {
    /// The JSON-RPC method.
    pub const NAME: &'static str = "turn/delta";
}

/// A failed provider is called again. It is not part of the change log and is sent only to connections that
/// started or watch the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnRetrying {
    /// The turn.
    pub turn_id: TurnId,
    /// Number of attempts so far.
    pub attempt: u32,
    /// Milliseconds until the next attempt.
    pub delay_ms: u64,
    /// The provider's error message.
    pub message: String,
}

impl TurnRetrying {
    /// The JSON-RPC method.
    pub const NAME: &'static str = "turn/retrying";
}

/// Row of the notification table.
pub struct NotificationSpec {
    /// The JSON-RPC method.
    pub name: &'static str,
    /// Occasion of the notification.
    pub summary: &'static str,
    /// Name of the parameters' type.
    pub params_type: &'static str,
    /// Function that adds the parameters' schema to a generator.
    pub params_schema: fn(SchemaGenerator) -> schemars::Schema,
}

macro_rules! table {
    ($($type:ident: $summary:literal;)*) => {
        /// All notifications, in the order of the reference.
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
    TreeChanged: "The workspace, its folders, threads or set of documents changed.";
    TurnStarted: "A turn started.";
    TurnManifestKept: "A model was called with a prompt whose manifest is stored.";
    TurnDelta: "A piece of a turn's answer; not part of the change log, sent to connections that started or watch the turn.";
    TurnRetrying: "A failed provider is called again; not part of the change log, sent to connections that started or watch the turn.";
    TurnToolStarted: "A tool call started.";
    TurnApprovalRequested: "A tool call requires approval; `turn/get` returns the complete request.";
    TurnApprovalDecided: "An approval was decided.";
    TurnToolFinished: "A tool call finished.";
    ContextCompressing: "Earlier turns exceed their budget and are being summarized.";
    ContextCompressed: "Earlier turns were left out of the request.";
    TurnCompleted: "A turn completed with an answer.";
    TurnFailed: "A turn ended without an answer.";
    TurnCancelled: "A turn was stopped.";
}
