//! All methods of the protocol in one table: name, parameters, result and weakest role.

mod audit;
mod connection;
mod document;
mod folder;
mod instructions;
mod mcp;
mod memory;
mod prompt;
mod skill;
mod thread;
mod token;
mod transcript;
mod turn;
mod workspace;

pub use audit::*;
pub use connection::*;
pub use document::*;
pub use folder::*;
pub use instructions::*;
pub use mcp::*;
pub use memory::*;
pub use prompt::*;
pub use skill::*;
pub use thread::*;
pub use token::*;
pub use transcript::*;
pub use turn::*;
pub use workspace::*;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Role, WorkspaceId};

/// A method: its name, and its types of parameters and result.
pub trait Method: Send + Sync + 'static {
    /// The JSON-RPC method.
    const NAME: &'static str;
    /// Weakest role that may call it.
    const ROLE: Role;
    /// Type of the parameters.
    type Params: Params;
    /// Type of the result.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// Parameters of a method.
pub trait Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// Returns the workspace of the call. A token bound to another one may not make it.
    // Required and without a default: a method that forgot it would be open to tokens of every workspace.
    fn workspace_id(&self) -> Option<&WorkspaceId>;
}

/// Row of the method table.
pub struct MethodSpec {
    /// The JSON-RPC method.
    pub name: &'static str,
    /// Purpose of the method.
    pub summary: &'static str,
    /// Weakest role that may call it.
    pub role: Role,
    /// Name of the parameters' type.
    pub params_type: &'static str,
    /// Name of the result's type.
    pub result_type: &'static str,
    /// Function that returns the parameters' schema.
    pub params_schema: fn(SchemaGenerator) -> Schema,
    /// Function that returns the result's schema.
    pub result_schema: fn(SchemaGenerator) -> Schema,
}

/// Implements [`Params`] for types with a `workspace_id` field.
macro_rules! in_workspace {
    ($($params:ty),* $(,)?) => {$(
        impl crate::Params for $params {
            fn workspace_id(&self) -> Option<&crate::WorkspaceId> {
                Some(&self.workspace_id)
            }
        }
    )*};
}

/// Implements [`Params`] for types without a workspace.
macro_rules! outside_workspaces {
    ($($params:ty),* $(,)?) => {$(
        impl crate::Params for $params {
            fn workspace_id(&self) -> Option<&crate::WorkspaceId> {
                None
            }
        }
    )*};
}

use in_workspace;
use outside_workspaces;

macro_rules! methods {
    ($($(#[doc = $summary:literal])+ $method:ident = $name:literal, $role:ident, $params:ident => $result:ident;)*) => {
        $(
            $(#[doc = $summary])+
            #[derive(Debug, Clone, Copy)]
            pub struct $method;

            impl Method for $method {
                const NAME: &'static str = $name;
                const ROLE: Role = Role::$role;
                type Params = $params;
                type Result = $result;
            }
        )*

        /// All methods, in the order of the reference.
        // The reference, the schemas and the capabilities are made from this table. A test of the gateway
        // compares it with the registered handlers.
        pub const METHODS: &[MethodSpec] = &[$(
            MethodSpec {
                name: $name,
                summary: concat!($($summary),+),
                role: Role::$role,
                params_type: stringify!($params),
                result_type: stringify!($result),
                params_schema: SchemaGenerator::into_root_schema_for::<$params>,
                result_schema: SchemaGenerator::into_root_schema_for::<$result>,
            },
        )*];
    };
}

methods! {
    /// Identifies the caller and returns the gateway's capabilities; optional on every transport.
    Initialize = "initialize", Reader, InitializeParams => InitializeResult;

    /// Returns a one-time code with which a browser signs in to the console with the caller's token.
    ConsoleCode = "console/code", Reader, ConsoleCodeParams => ConsoleCodeResult;

    /// Creates a workspace.
    WorkspaceCreate = "workspace/create", Owner, WorkspaceCreateParams => WorkspaceResult;
    /// Changes a workspace's name, directory or file settings; absent fields keep their value.
    WorkspaceUpdate = "workspace/update", Owner, WorkspaceUpdateParams => WorkspaceResult;
    /// Hides a workspace and frees its name; it can still be read by its id.
    WorkspaceArchive = "workspace/archive", Owner, WorkspaceGetParams => WorkspaceResult;
    /// Restores an archived workspace, unless its name is taken.
    WorkspaceRestore = "workspace/restore", Owner, WorkspaceGetParams => WorkspaceResult;
    /// Returns a workspace.
    WorkspaceGet = "workspace/get", Reader, WorkspaceGetParams => WorkspaceResult;
    /// Lists the workspaces that the token may access.
    WorkspaceList = "workspace/list", Reader, WorkspaceListParams => WorkspaceListResult;

    /// Creates a folder.
    FolderCreate = "thread/folder/create", Editor, FolderCreateParams => FolderResult;
    /// Returns a folder.
    FolderGet = "thread/folder/get", Reader, FolderGetParams => FolderResult;
    /// Renames a folder.
    FolderRename = "thread/folder/rename", Editor, FolderRenameParams => FolderResult;
    /// Moves a folder into another one, or to the workspace root.
    FolderMove = "thread/folder/move", Editor, FolderMoveParams => FolderResult;
    /// Deletes a folder: its document is archived, its folders and threads move to its parent.
    FolderDelete = "thread/folder/delete", Editor, FolderGetParams => FolderDeleteResult;
    /// Lists deleted folders, most recently deleted first.
    FolderDeleted = "thread/folder/deleted", Reader, FolderDeletedParams => FolderDeletedResult;
    /// Restores a deleted folder below its nearest existing ancestor, with its document.
    FolderRestore = "thread/folder/restore", Editor, FolderGetParams => FolderRestoreResult;

    /// Creates a thread.
    ThreadCreate = "thread/create", Editor, ThreadCreateParams => ThreadResult;
    /// Returns a thread.
    ThreadGet = "thread/get", Reader, ThreadGetParams => ThreadResult;
    /// Renames a thread.
    ThreadRename = "thread/rename", Editor, ThreadRenameParams => ThreadResult;
    /// Moves a thread into a folder, or to the workspace root.
    ThreadMove = "thread/move", Editor, ThreadMoveParams => ThreadResult;
    /// Archives a thread.
    ThreadArchive = "thread/archive", Editor, ThreadGetParams => ThreadResult;
    /// Returns the tree or a part of it, without texts, and its sequence number.
    ThreadTree = "thread/tree", Reader, ThreadTreeParams => ThreadTreeResult;
    /// Lists the threads of one folder in pages.
    ThreadList = "thread/list", Reader, ThreadListParams => ThreadListResult;

    /// Returns a scope's own document and its effective document.
    DocumentGet = "thread/agents_doc/get", Reader, DocumentScopeParams => DocumentGetResult;
    /// Saves a scope's document.
    DocumentSave = "thread/agents_doc/save", Editor, DocumentSaveParams => DocumentSaveResult;
    /// Archives a scope's document, so that the scope inherits again.
    DocumentArchive = "thread/agents_doc/archive", Editor, DocumentArchiveParams => DocumentArchiveResult;
    /// Returns the effective document of a thread.
    DocumentResolveForThread = "thread/agents_doc/resolve_for_thread", Reader, DocumentResolveForThreadParams => DocumentResolveResult;
    /// Returns the effective document of a folder.
    DocumentResolveForFolder = "thread/agents_doc/resolve_for_folder", Reader, DocumentScopeParams => DocumentResolveResult;
    /// Lists a scope's revisions, newest first, without their texts.
    DocumentHistory = "thread/agents_doc/history", Reader, DocumentHistoryParams => DocumentHistoryResult;
    /// Returns a revision with its text.
    DocumentRevision = "thread/agents_doc/revision", Reader, DocumentRevisionParams => DocumentRevisionResult;
    /// Restores an older revision's text as a new version.
    DocumentRestore = "thread/agents_doc/restore", Editor, DocumentRestoreParams => DocumentRestoreResult;

    /// Compares the instruction files that agents read in a directory of the workspace. The user's own files
    /// count only for owners of all workspaces.
    InstructionsCompare = "instructions/compare", Reader, InstructionsCompareParams => Comparison;

    /// Returns the prompt of a thread's next turn, without calling a model.
    PromptPreview = "prompt/preview", Reader, PromptPreviewParams => PromptResult;
    /// Returns the first section that differs between two prompts, the source that caused it, and the tokens
    /// it costs.
    PromptDiff = "prompt/diff", Reader, PromptDiffParams => PromptDiffResult;
    /// Returns the prompt of a past turn byte for byte, verified against its fingerprints.
    PromptRebuild = "prompt/rebuild", Reader, PromptRebuildParams => PromptResult;
    /// Starts a turn. The answer arrives while the turn runs: as `turn/delta` on this connection, and through
    /// `turn/get`.
    TurnStart = "turn/start", Operator, TurnStartParams => TurnResult;
    /// Returns a turn, its steps so far and its pending approvals; long turns in pages.
    TurnGet = "turn/get", Reader, TurnPageParams => TurnGetResult;
    /// Follows a running turn: returns the answer so far and sends the rest as `turn/delta`. Requires a
    /// connection, not HTTP POST.
    TurnWatch = "turn/watch", Reader, TurnGetParams => TurnWatchResult;
    /// Lists the newest turns of a thread.
    TurnList = "turn/list", Reader, TurnListParams => TurnListResult;
    /// Stops a turn on any gateway. A turn that has ended is not changed.
    TurnCancel = "turn/cancel", Operator, TurnGetParams => TurnResult;
    /// Decides a pending approval, after `turn/approval_requested`.
    TurnApprove = "turn/approve", Operator, TurnApproveParams => TurnApproveResult;
    /// Returns the manifests of a turn's prompts.
    TurnManifest = "turn/manifest", Reader, TurnGetParams => TurnManifestResult;
    /// Returns the body of a past request to a provider byte for byte, rebuilt from stored parts and verified against
    /// the SHA-256 recorded when it was sent. It contains no key.
    TurnRequest = "turn/request", Operator, PromptRebuildParams => TurnRequestResult;
    /// Returns the files, documents, skills, memory and hooks of a turn's prompt, with their versions.
    TurnExplain = "turn/explain", Reader, TurnGetParams => TurnExplainResult;
    /// Returns the relation between a rule of an instruction file or document and what the model of a thread received.
    TranscriptWhy = "transcript/why", Reader, TranscriptWhyParams => WhyReport;
    /// Returns a thread's session.
    SessionGet = "session/get", Reader, SessionGetParams => SessionGetResult;
    /// Returns the reminder about changed files that the thread's next turn would receive. Nothing counts as
    /// delivered yet.
    SessionResume = "session/resume", Editor, SessionResumeParams => SessionResumeResult;
    /// Lists the skills of a directory, with the outcome of each.
    SkillList = "skill/list", Reader, SkillListParams => SkillListResult;
    /// Returns a skill with its front matter, its files and, if usable, its text.
    SkillGet = "skill/get", Reader, SkillGetParams => SkillGetResult;

    /// Adds a memory item.
    MemoryAdd = "memory/add", Editor, MemoryAddParams => MemoryResult;
    /// Lists memory items, newest first.
    MemoryList = "memory/list", Reader, MemoryListParams => MemoryListResult;
    /// Returns a memory item; a forgotten one without its text.
    MemoryGet = "memory/get", Reader, MemoryGetParams => MemoryResult;
    /// Searches memory items for words in any script, best match first.
    MemorySearch = "memory/search", Reader, MemorySearchParams => MemoryListResult;
    /// Forgets a memory item: removes its text and every stored text that is recorded to contain it.
    MemoryForget = "memory/forget", Editor, MemoryGetParams => MemoryForgetResult;
    /// Exports memory items in pages, for import into another gateway.
    MemoryExport = "memory/export", Reader, MemoryExportParams => MemoryExportResult;
    /// Imports exported memory items. Items that exist already are unchanged.
    MemoryImport = "memory/import", Editor, MemoryImportParams => MemoryImportResult;

    /// Lists the configured MCP servers and their state, without starting any.
    McpStatus = "mcp/status", Reader, McpStatusParams => McpStatusResult;

    /// Subscribes to notifications of a workspace, starting with those after `since`. Requires a connection,
    /// not HTTP POST.
    EventsSubscribe = "events/subscribe", Reader, EventsSubscribeParams => EventsResult;
    /// Ends a subscription to a workspace.
    EventsUnsubscribe = "events/unsubscribe", Reader, EventsUnsubscribeParams => EventsResult;

    /// Creates a token. Only this response contains its secret.
    TokenCreate = "token/create", Owner, TokenCreateParams => TokenCreateResult;
    /// Lists the tokens, without their secrets.
    TokenList = "token/list", Owner, TokenListParams => TokenListResult;
    /// Revokes a token, closes its connections and cancels its running turns.
    TokenRevoke = "token/revoke", Owner, TokenRevokeParams => TokenResult;
    /// Lists the audit log, newest first.
    AuditList = "audit/list", Owner, AuditListParams => AuditListResult;
}

/// Returns the row of a method, or `None` if it does not exist.
pub fn find(name: &str) -> Option<&'static MethodSpec> {
    METHODS.iter().find(|method| method.name == name)
}
