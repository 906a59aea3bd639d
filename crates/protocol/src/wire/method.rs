//! Every method of the protocol, in one table: name, parameters, result, the weakest role that may call it.

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
pub use turn::*;
pub use workspace::*;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Role, WorkspaceId};

/// A method: its name and the types of its parameters and result.
pub trait Method: Send + Sync + 'static {
    /// The JSON-RPC method.
    const NAME: &'static str;
    /// The weakest role that may call it.
    const ROLE: Role;
    /// What it takes.
    type Params: Params;
    /// What it answers with.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// Parameters of a method.
pub trait Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// The workspace the call is about; a token bound to another one may not make it.
    fn workspace_id(&self) -> Option<&WorkspaceId>;
}

/// One row of the table of methods.
pub struct MethodSpec {
    /// The JSON-RPC method.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The weakest role that may call it.
    pub role: Role,
    /// Name of the parameters' type.
    pub params_type: &'static str,
    /// Name of the result's type.
    pub result_type: &'static str,
    /// The parameters' schema.
    pub params_schema: fn(SchemaGenerator) -> Schema,
    /// The result's schema.
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

/// Implements [`Params`] for types that are about no workspace.
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

        /// Every method, in the order of the reference.
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
    /// Says who is calling and learns what the gateway can do; optional on every transport.
    Initialize = "initialize", Reader, InitializeParams => InitializeResult;

    /// Makes a workspace.
    WorkspaceCreate = "workspace/create", Owner, WorkspaceCreateParams => WorkspaceResult;
    /// Changes a workspace's name, directory or file settings; what is absent stays.
    WorkspaceUpdate = "workspace/update", Owner, WorkspaceUpdateParams => WorkspaceResult;
    /// Hides a workspace and frees its name; whoever has its id can still look into it.
    WorkspaceArchive = "workspace/archive", Owner, WorkspaceGetParams => WorkspaceResult;
    /// Brings an archived workspace back, unless another one has its name by now.
    WorkspaceRestore = "workspace/restore", Owner, WorkspaceGetParams => WorkspaceResult;
    /// One workspace.
    WorkspaceGet = "workspace/get", Reader, WorkspaceGetParams => WorkspaceResult;
    /// The workspaces this token may see.
    WorkspaceList = "workspace/list", Reader, WorkspaceListParams => WorkspaceListResult;

    /// Makes a folder.
    FolderCreate = "thread/folder/create", Editor, FolderCreateParams => FolderResult;
    /// One folder.
    FolderGet = "thread/folder/get", Reader, FolderGetParams => FolderResult;
    /// Gives a folder another name.
    FolderRename = "thread/folder/rename", Editor, FolderRenameParams => FolderResult;
    /// Moves a folder into another one, or to the workspace root.
    FolderMove = "thread/folder/move", Editor, FolderMoveParams => FolderResult;
    /// Deletes a folder: its document is archived, its folders and threads move to its parent.
    FolderDelete = "thread/folder/delete", Editor, FolderGetParams => FolderDeleteResult;
    /// Deleted folders, the last one first.
    FolderDeleted = "thread/folder/deleted", Reader, FolderDeletedParams => FolderDeletedResult;
    /// Brings a deleted folder back below its nearest living ancestor, with the document it had.
    FolderRestore = "thread/folder/restore", Editor, FolderGetParams => FolderRestoreResult;

    /// Makes a thread.
    ThreadCreate = "thread/create", Editor, ThreadCreateParams => ThreadResult;
    /// One thread.
    ThreadGet = "thread/get", Reader, ThreadGetParams => ThreadResult;
    /// Gives a thread another title.
    ThreadRename = "thread/rename", Editor, ThreadRenameParams => ThreadResult;
    /// Moves a thread into a folder, or to the workspace root.
    ThreadMove = "thread/move", Editor, ThreadMoveParams => ThreadResult;
    /// Takes a thread out of the tree.
    ThreadArchive = "thread/archive", Editor, ThreadGetParams => ThreadResult;
    /// The tree, or a part of it, without any text, and the sequence number it is true for.
    ThreadTree = "thread/tree", Reader, ThreadTreeParams => ThreadTreeResult;
    /// The threads of one folder, a page at a time.
    ThreadList = "thread/list", Reader, ThreadListParams => ThreadListResult;

    /// A scope's own document and the one effective there.
    DocumentGet = "thread/agents_doc/get", Reader, DocumentScopeParams => DocumentGetResult;
    /// Saves a scope's document.
    DocumentSave = "thread/agents_doc/save", Editor, DocumentSaveParams => DocumentSaveResult;
    /// Archives a scope's document; the scope inherits again.
    DocumentArchive = "thread/agents_doc/archive", Editor, DocumentArchiveParams => DocumentArchiveResult;
    /// The document effective for a thread.
    DocumentResolveForThread = "thread/agents_doc/resolve_for_thread", Reader, DocumentResolveForThreadParams => DocumentResolveResult;
    /// The document effective for a folder.
    DocumentResolveForFolder = "thread/agents_doc/resolve_for_folder", Reader, DocumentScopeParams => DocumentResolveResult;
    /// A scope's revisions, newest first, without their texts.
    DocumentHistory = "thread/agents_doc/history", Reader, DocumentHistoryParams => DocumentHistoryResult;
    /// One revision with its text.
    DocumentRevision = "thread/agents_doc/revision", Reader, DocumentRevisionParams => DocumentRevisionResult;
    /// Makes an older revision's text current again, as a new version.
    DocumentRestore = "thread/agents_doc/restore", Editor, DocumentRestoreParams => DocumentRestoreResult;

    /// What agents would each read in a directory of the workspace, and what differs between them. The user's own files count only for owners of all workspaces.
    InstructionsCompare = "instructions/compare", Reader, InstructionsCompareParams => Comparison;

    /// The prompt of a thread's next turn, without asking a model.
    PromptPreview = "prompt/preview", Reader, PromptPreviewParams => PromptResult;
    /// Which section first differs between a turn's prompt and a later one, from which source, and what that costs.
    PromptDiff = "prompt/diff", Reader, PromptDiffParams => PromptDiffResult;
    /// The prompt of a past turn, byte for byte, proven by its fingerprints.
    PromptRebuild = "prompt/rebuild", Reader, PromptRebuildParams => PromptResult;
    /// Asks a model. The answer comes while the turn runs: `turn/delta` to this connection, `turn/get` to everybody.
    TurnStart = "turn/start", Operator, TurnStartParams => TurnResult;
    /// One turn, what happened in it so far, and what waits for a decision; a long one a page at a time.
    TurnGet = "turn/get", Reader, TurnPageParams => TurnGetResult;
    /// Follows a turn that somebody else asked: the answer so far now, the rest as `turn/delta`. Needs a connection: not over HTTP POST.
    TurnWatch = "turn/watch", Reader, TurnGetParams => TurnWatchResult;
    /// The newest turns of a thread.
    TurnList = "turn/list", Reader, TurnListParams => TurnListResult;
    /// Stops a turn, wherever it runs; one that has ended stays as it is.
    TurnCancel = "turn/cancel", Operator, TurnGetParams => TurnResult;
    /// Decides about a call that waits, after `turn/approval_requested`.
    TurnApprove = "turn/approve", Operator, TurnApproveParams => TurnApproveResult;
    /// What the prompts of a turn consisted of.
    TurnManifest = "turn/manifest", Reader, TurnGetParams => TurnManifestResult;
    /// The files, documents, skills, memory and hooks that made a turn's prompt, with versions.
    TurnExplain = "turn/explain", Reader, TurnGetParams => TurnExplainResult;
    /// What a thread remembers about instruction files.
    SessionGet = "session/get", Reader, SessionGetParams => SessionGetResult;
    /// What the thread's next turn would tell the model of a changed disk, without telling it yet.
    SessionResume = "session/resume", Editor, SessionResumeParams => SessionResumeResult;
    /// The skills of a place, which of them its turns are told of, and why not the others.
    SkillList = "skill/list", Reader, SkillListParams => SkillListResult;
    /// One skill: what it says about itself, its files and, if it can be used, its text.
    SkillGet = "skill/get", Reader, SkillGetParams => SkillGetResult;

    /// Remembers something.
    MemoryAdd = "memory/add", Editor, MemoryAddParams => MemoryResult;
    /// What is remembered, newest first.
    MemoryList = "memory/list", Reader, MemoryListParams => MemoryListResult;
    /// One item of memory; of one that was forgotten, all but its text.
    MemoryGet = "memory/get", Reader, MemoryGetParams => MemoryResult;
    /// Items that have words, in any script, best first.
    MemorySearch = "memory/search", Reader, MemorySearchParams => MemoryListResult;
    /// Forgets an item: its text goes, and so does every stored text that it is recorded to be part of.
    MemoryForget = "memory/forget", Editor, MemoryGetParams => MemoryForgetResult;
    /// What is remembered, for another gateway, a part at a time.
    MemoryExport = "memory/export", Reader, MemoryExportParams => MemoryExportResult;
    /// Remembers what was exported; what is remembered already stays as it is.
    MemoryImport = "memory/import", Editor, MemoryImportParams => MemoryImportResult;

    /// The configured MCP servers, and how they are. Starts none.
    McpStatus = "mcp/status", Reader, McpStatusParams => McpStatusResult;

    /// Starts notifications of a workspace, first those after `since`. Needs a connection: not over HTTP POST.
    EventsSubscribe = "events/subscribe", Reader, EventsSubscribeParams => EventsResult;
    /// Ends notifications of a workspace.
    EventsUnsubscribe = "events/unsubscribe", Reader, EventsUnsubscribeParams => EventsResult;

    /// Makes a token; the answer is the only time its secret is shown.
    TokenCreate = "token/create", Owner, TokenCreateParams => TokenCreateResult;
    /// The tokens, without their secrets.
    TokenList = "token/list", Owner, TokenListParams => TokenListResult;
    /// Revokes a token: its connections are closed and its running turns cancelled.
    TokenRevoke = "token/revoke", Owner, TokenRevokeParams => TokenResult;
    /// Who came in, who was turned away, and who decided what.
    AuditList = "audit/list", Owner, AuditListParams => AuditListResult;
}

/// The row of a method.
pub fn find(name: &str) -> Option<&'static MethodSpec> {
    METHODS.iter().find(|method| method.name == name)
}
