//! Parameters and results about documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Document, FolderId, ResolvedDocument, Revision, RevisionSummary, SaveReason, ThreadId, Version, Warning,
    WorkspaceId,
};

/// Takes a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentScopeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
}

/// Takes a scope's new text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentSaveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The text; line ends are normalised.
    pub content: String,
    /// The version the caller last saw; 0: there must be no document yet; absent: whatever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Why it is saved; `manual` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save_reason: Option<SaveReason>,
    /// What the change is for, at most 500 characters; shown in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Takes the scope whose document goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentArchiveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The version the caller last saw; absent: whatever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
}

/// Takes a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentResolveForThreadParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// Takes a scope and which part of its history is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentHistoryParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Most revisions to answer with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// Only versions below this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Version>,
}

/// Takes a scope and a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRevisionParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The version.
    pub version: Version,
}

/// Takes a scope and the version to bring back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRestoreParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent: the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The version whose text becomes current.
    pub version: Version,
    /// The version the caller last saw; 0: there must be no document; absent: whatever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// What it is restored for, at most 500 characters; shown in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Answers with what a scope has and what is effective there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentGetResult {
    /// The scope's own document, a draft too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explicit: Option<Document>,
    /// The nearest active document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// Answers with the document as it now is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSaveResult {
    /// The document.
    pub doc: Document,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Answers whether there was something to archive, and what is effective now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentArchiveResult {
    /// False when the scope had no document.
    pub archived: bool,
    /// The nearest active document afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// Answers with the effective document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentResolveResult {
    /// The nearest active document; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// Answers with revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentHistoryResult {
    /// Newest first.
    pub revisions: Vec<RevisionSummary>,
}

/// Answers with one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentRevisionResult {
    /// The revision.
    pub revision: Revision,
}

/// Answers with the document as it now is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentRestoreResult {
    /// The document.
    pub doc: Document,
}

super::in_workspace!(
    DocumentScopeParams,
    DocumentSaveParams,
    DocumentArchiveParams,
    DocumentResolveForThreadParams,
    DocumentHistoryParams,
    DocumentRevisionParams,
    DocumentRestoreParams,
);
