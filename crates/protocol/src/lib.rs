//! The public vocabulary of a Foreword gateway: documents, trees, methods, notifications and error codes.
//!
//! Every type that crosses the wire is defined here once. The JSON Schemas under `schemas/`, the reference in
//! `docs/protocol.md`, the gateway's handlers and the typed client are all derived from these definitions.
//!
//! ```
//! use protocol::{Method, method};
//!
//! assert_eq!(method::DocumentSave::NAME, "thread/agents_doc/save");
//! assert_eq!(protocol::text::normalise("a\r\nb"), "a\nb");
//! ```

pub mod agents_config;
pub mod document;
pub mod error;
pub mod hook;
pub mod id;
pub mod limits;
pub mod local;
pub mod method;
pub mod notification;
pub mod number;
pub mod prompt;
pub mod reference;
pub mod schema;
pub mod text;
pub mod time;
pub mod token;
pub mod tool;
pub mod tree;
pub mod turn;

pub use agents_config::AgentsConfig;
pub use document::{
    Document, DocumentStatus, DocumentSummary, ResolvedDocument, Revision, RevisionReason, RevisionSummary,
    SaveReason, Warning,
};
pub use error::ErrorKind;
pub use id::{DocumentId, FolderId, HookRunId, ThreadId, TokenId, TurnId, TurnItemId, WorkspaceId};
pub use method::{Method, MethodSpec, Params};
pub use number::{Sequence, Version};
pub use text::ContentHash;
pub use time::Timestamp;
pub use token::{AccessToken, Role};
pub use tool::{ApprovalRequest, MalformedArguments, ToolCall, ToolSpec, TurnApproval};
pub use tree::{Folder, Placement, Thread, ThreadMode, ThreadSummary, Workspace};
pub use turn::{MessageRole, TokenUsage, Turn, TurnError, TurnStatus};
