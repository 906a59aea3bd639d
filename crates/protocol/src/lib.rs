//! Public types of Foreword: documents, trees, turns, prompts, hooks, tools, methods, notifications and error
//! codes.
//!
//! Each concept has one type, defined here and shared by the wire, the store, the prompt compiler and the
//! hook runtime. The JSON Schemas under `schemas/` and the reference in `docs/protocol.md` are generated from
//! these types. The crate does no work of its own: no storage, no transport, no async runtime.
//!
//! A [`Method`] ties a name to its parameters and its result:
//!
//! ```
//! use protocol::method::{DocumentSave, DocumentSaveParams};
//! use protocol::{Method, Role, Version};
//! use serde_json::json;
//!
//! let params = DocumentSaveParams {
//!     workspace_id: "0190aaaa-0000-7000-8000-000000000001".parse()?,
//!     folder_id: None,
//!     content: "Run the tests.\n".to_owned(),
//!     expected_version: Some(Version(3)),
//!     save_reason: None,
//!     message: None,
//! };
//! let call = json!({ "jsonrpc": "2.0", "id": 1, "method": DocumentSave::NAME, "params": params });
//! assert_eq!(call["method"], "thread/agents_doc/save");
//! assert_eq!(call["params"]["expected_version"], 3);
//! assert!(call["params"].get("folder_id").is_none(), "what is absent is left out");
//! assert_eq!(DocumentSave::ROLE, Role::Editor);
//!
//! // Unknown fields are refused, so a typing error is not a silent default.
//! let typo = json!({ "workspace_id": "w", "content": "", "expected": 3 });
//! assert!(serde_json::from_value::<DocumentSaveParams>(typo).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod conversation;
mod nearest;
mod prompting;
mod wire;
mod workspace;

// The folders only group files. Each module has one public path, directly below the crate's root.
pub use conversation::{message, round, sandbox, session, tool, transcript, turn};
pub use prompting::{hook, mcp, memory, preview, prompt, skill};
pub use wire::{error, id, limits, local, method, notification, number, reference, schema, time};
pub use workspace::{audit, compare, document, text, token, tree};

pub use audit::{
    AuditEntry, AuditEvent, AuthenticationFailure, GATEWAY_ACTOR, MCP_CLIENT, STDIO_ACTOR, SignInMethod,
    mcp_client,
};
pub use compare::{ComparedAgent, ComparedFile, Comparison, ReadingTime};
pub use conversation::redaction::{Redacted, Redaction};
pub use conversation::scope::{DelegateInstructions, TokenReach, TurnScope};
pub use document::{
    Document, DocumentStatus, DocumentSummary, ResolvedDocument, Revision, RevisionReason, RevisionSummary,
    SaveReason, Warning,
};
pub use error::{ErrorKind, ErrorSubject, Hint};
pub use id::{
    AuditEntryId, DocumentId, FolderId, HookRunId, InstanceId, MemoryItemId, ThreadId, TokenId, TurnId,
    TurnItemId, WorkspaceId,
};
pub use memory::{MEMORY_SOURCE, MemoryItem, MemoryRecord, MemoryRemoved, MemoryScope, MemoryStatus};
pub use method::{Method, MethodSpec, Params};
pub use nearest::{nearest, plausible, similar};
pub use number::{Sequence, Version};
pub use sandbox::{CallEffects, FileChange, ProtectedChange, SandboxLevel};
pub use session::{ThreadSession, Versioned};
pub use skill::{Skill, SkillFile, SkillOutcome, SkillReason, SkillSummary};
pub use time::Timestamp;
pub use token::{AccessToken, Role};
pub use tool::{
    ApprovalDecision, ApprovalRequest, HowDecided, MalformedArguments, ToolCall, ToolSpec, TurnApproval,
};
pub use transcript::{
    DeliveryTime, RuleDelivery, RuleLine, TranscriptEvent, TranscriptEventKind, TranscriptEvidence,
    TranscriptFile, TranscriptList, TranscriptSession, TranscriptTimeline, Verdict, Violation, WhyReport,
    WhySession,
};
pub use tree::{DeletedFolder, Folder, Placement, Thread, ThreadMode, ThreadSummary, Workspace};
pub use turn::{MessageRole, TokenUsage, Turn, TurnError, TurnErrorKind, TurnStatus};

// Instruction files and sessions are defined by the resolver and cross the wire unchanged.
pub use instructions::{
    AgentsConfig, AgentsInitial, AgentsResolver, AgentsRoot, Audience, Block, BlockRole, ContentHash,
    Decision, Delivery, Diagnostic, DiagnosticCode, FileProblem, FileScope, FileVersion, FrozenChange,
    FrozenFile, InitialChain, InstructionFile, Outcome, Reminder, ReminderFile, ResolvedAgents, ResolvedFile,
    Session, SystemReminderType, common_prefix, hex, is_invisible, is_unseen, parse_session, reorders_text,
};
