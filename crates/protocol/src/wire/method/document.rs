//! Parameters and results of documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Document, FolderId, ResolvedDocument, Revision, RevisionSummary, SaveReason, ThreadId, Version, Warning,
    WorkspaceId,
};

/// A scope.
// Every parameter type spells out the two fields of a scope: serde ignores `deny_unknown_fields` in combination
// with `flatten`, and a misspelt parameter must be an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentScopeParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
}

/// New text of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentSaveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The text; line ends are normalized.
    pub content: String,
    /// Version that the caller last saw; 0 to require that there is no document; absent to overwrite any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Reason for the save; absent for `manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save_reason: Option<SaveReason>,
    /// Description of the change for the history, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Scope whose document to archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentArchiveParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Version that the caller last saw; absent to archive any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentResolveForThreadParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
}

/// Scope and range of its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentHistoryParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Most revisions in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// Version that revisions must precede.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Version>,
}

/// Version of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRevisionParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// The version.
    pub version: Version,
}

/// Version of a scope to restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRestoreParams {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The folder; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Version whose text to restore.
    pub version: Version,
    /// Version that the caller last saw; 0 to require that there is no document; absent to overwrite any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<Version>,
    /// Description of the change for the history, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Own and effective document of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentGetResult {
    /// The scope's own document, including a draft.
    // Both documents in one answer: fetched separately, they could belong to different moments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explicit: Option<Document>,
    /// The nearest active document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// The saved document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSaveResult {
    /// The document.
    pub doc: Document,
    /// Warnings for the user.
    // Warnings are no errors: the text is stored, and a client must not offer to save it again.
    pub warnings: Vec<Warning>,
}

/// Result of archiving a scope's document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentArchiveResult {
    /// False if the scope had no document.
    // Archiving a missing document succeeds, so that a repeated call after a lost answer is no error.
    pub archived: bool,
    /// The nearest active document afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// The effective document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentResolveResult {
    /// The nearest active document; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<ResolvedDocument>,
}

/// Revisions of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentHistoryResult {
    /// Revisions, newest first.
    pub revisions: Vec<RevisionSummary>,
}

/// A revision with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentRevisionResult {
    /// The revision.
    pub revision: Revision,
}

/// The restored document.
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
