//! Notifications for subscribers. They carry no content: clients fetch what they show.

use schemars::{JsonSchema, Schema, SchemaGenerator};
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

/// A notification of the change log as it is sent: its own fields, and the time and author of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedNotification<T> {
    /// The notification.
    #[serde(flatten)]
    pub notification: T,
    /// Time and author of the change.
    #[serde(flatten)]
    pub origin: ChangeOrigin,
}

/// Returns the schema of a notification as it is sent, under the name of the type that has its own fields.
fn schema_of_logged<T: JsonSchema>(generator: SchemaGenerator) -> Schema {
    let own = generator.clone().into_root_schema_for::<T>();
    let mut sent = generator.into_root_schema_for::<LoggedNotification<T>>();
    for keyword in ["title", "description"] {
        if let Some(value) = own.get(keyword) {
            sent.insert(keyword.to_owned(), value.clone());
        }
    }
    sent
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

/// Defines the notifications of the change log: for each one the complete parameters, which clients read, and a variant
/// of an enum with the fields that are its own, which the store writes.
macro_rules! logged_notifications {
    (
        $(#[$enum_doc:meta])* $enum:ident $ids:tt
        $($(#[$doc:meta])* $type:ident / $variant:ident = $name:literal {
            $($(#[$field_doc:meta])* $field:ident: $field_type:ty),* $(,)?
        })*
    ) => {
        $(#[$enum_doc])*
        // Untagged, because the method identifies the variant.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum $enum {
            $($(#[$doc])* $variant { $($(#[$field_doc])* $field: $field_type,)* },)*
        }

        impl $enum {
            /// Returns the JSON-RPC method of the notification.
            pub fn method(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }

        $(
            logged_notification! {
                $(#[$doc])* $type = $name $ids { $($(#[$field_doc])* $field: $field_type,)* }
            }
        )*
    };
}

/// Defines the complete parameters of one notification.
// A macro of its own, because the ids of all notifications cannot be repeated beside the fields of each.
macro_rules! logged_notification {
    (
        $(#[$doc:meta])* $type:ident = $name:literal
        { $($(#[$id_doc:meta])* $id:ident: $id_type:ty),* $(,)? }
        { $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $type {
            /// Position in the workspace's change log.
            pub seq: Sequence,
            $($(#[$id_doc])* pub $id: $id_type,)*
            $($(#[$field_doc])* pub $field: $field_type,)*
        }

        impl Notification for $type {
            const NAME: &'static str = $name;
        }

        impl $type {
            fn params_schema(generator: SchemaGenerator) -> Schema {
                schema_of_logged::<Self>(generator)
            }
        }
    };
}

logged_notifications! {
    /// A change of a workspace, without its position in the log and its ids.
    WorkspaceEvent {
        /// The workspace.
        workspace_id: WorkspaceId,
    }
    /// A scope's document was saved, restored or archived.
    DocumentChanged / DocumentChanged = "thread/agents_doc/changed" {
        /// Folder of the scope; absent for the workspace root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder_id: Option<FolderId>,
        /// The current document; absent if it was archived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<DocumentSummary>,
        /// True if the effective text of the scope changed.
        effective_changed: bool,
    }
    /// The workspace, its folders, threads or set of documents changed.
    TreeChanged / TreeChanged = "thread/tree/changed" {
        /// Kind of change.
        reason: TreeChange,
        /// Changed folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder_id: Option<FolderId>,
        /// Changed thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_id: Option<ThreadId>,
    }
}

logged_notifications! {
    /// An event of a turn, without its position in the log and its ids.
    TurnEvent {
        /// The workspace.
        workspace_id: WorkspaceId,
        /// The thread.
        thread_id: ThreadId,
        /// The turn.
        turn_id: TurnId,
    }
    /// A turn started.
    TurnStarted / Started = "turn/started" {
        /// The delegating turn; absent for a turn that a person started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_turn_id: Option<TurnId>,
    }
    /// A model was called with a prompt whose manifest is stored.
    TurnManifestKept / ManifestKept = "turn/manifest" {
        /// Number of the round in its turn, from 1.
        round: u32,
    }
    /// A tool call started.
    TurnToolStarted / ToolStarted = "turn/tool_started" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
    }
    /// A tool call requires approval; `turn/get` returns the complete request.
    TurnApprovalRequested / ApprovalRequested = "turn/approval_requested" {
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
    TurnApprovalDecided / ApprovalDecided = "turn/approval_decided" {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// The decision and its author.
        #[serde(flatten)]
        decision: ApprovalDecision,
    }
    /// A tool call finished.
    TurnToolFinished / ToolFinished = "turn/tool_finished" {
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
    ContextCompressing / ContextCompressing = "context/compressing" {}
    /// Earlier turns were left out of the request.
    ContextCompressed / ContextCompressed = "context/compressed" {
        /// Ordinal up to which turns are left out.
        through: u64,
        /// True if a summary replaces them.
        summarised: bool,
        /// Ordinal after which omitted turns are not covered by a summary either; absent if all are covered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing_after: Option<u64>,
    }
    /// A turn completed with an answer.
    TurnCompleted / Completed = "turn/completed" {}
    /// A turn ended without an answer.
    TurnFailed / Failed = "turn/failed" {}
    /// A turn was stopped.
    TurnCancelled / Cancelled = "turn/cancelled" {}
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

    fn params_schema(generator: SchemaGenerator) -> Schema {
        generator.into_root_schema_for::<Self>()
    }
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

    fn params_schema(generator: SchemaGenerator) -> Schema {
        generator.into_root_schema_for::<Self>()
    }
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
    pub params_schema: fn(SchemaGenerator) -> Schema,
}

macro_rules! table {
    ($($type:ident: $summary:literal;)*) => {
        /// All notifications, in the order of the reference.
        pub const NOTIFICATIONS: &[NotificationSpec] = &[$(
            NotificationSpec {
                name: $type::NAME,
                summary: $summary,
                params_type: stringify!($type),
                params_schema: $type::params_schema,
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
