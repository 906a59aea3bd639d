//! AGENTS.md documents: one per scope, versioned, with revisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId, FolderId, Timestamp, Version, WorkspaceId};

/// Title of every document.
pub const TITLE: &str = "AGENTS.md";

/// State of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStatus {
    /// Only white space: shown to people, never effective.
    Draft,
    /// Has text and takes part in resolution.
    Active,
    /// Removed; kept for its revisions.
    Archived,
}

/// Reason for a client's save.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaveReason {
    /// Saved by an editor while its user was typing.
    Autosave,
    /// Saved on request.
    #[default]
    Manual,
}

/// Reason for a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevisionReason {
    /// Saved by an editor while its user was typing.
    Autosave,
    /// Saved on request.
    Manual,
    /// The document was archived; the revision keeps its last text.
    Archive,
    /// An older revision was restored.
    Restore,
}

impl From<SaveReason> for RevisionReason {
    // Clients can give only the first two reasons. The others are set by the gateway, so they have a type
    // of their own.
    fn from(reason: SaveReason) -> Self {
        match reason {
            SaveReason::Autosave => RevisionReason::Autosave,
            SaveReason::Manual => RevisionReason::Manual,
        }
    }
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Id of the document. A new document in the same scope has another one.
    pub id: DocumentId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Folder of its scope; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// State of the document.
    pub status: DocumentStatus,
    /// Always `AGENTS.md`.
    pub title: String,
    /// Normalized text.
    pub content: String,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Version number within the scope.
    pub version: Version,
    /// Number of characters of the text.
    pub char_count: u64,
    /// Time of the first save.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time at which it was archived; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// Name of the token that first saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Name of the token that last changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<String>,
}

impl Document {
    /// Returns the document without its text.
    pub fn summary(&self) -> DocumentSummary {
        DocumentSummary {
            id: self.id.clone(),
            workspace_id: self.workspace_id.clone(),
            folder_id: self.folder_id.clone(),
            status: self.status,
            content_sha256: self.content_sha256.clone(),
            version: self.version,
            char_count: self.char_count,
            updated_at: self.updated_at,
        }
    }
}

/// A document without its text, as used in trees and notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSummary {
    /// Id of the document. A new document in the same scope has another one.
    pub id: DocumentId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Folder of its scope; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// State of the document.
    pub status: DocumentStatus,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Version number within the scope.
    pub version: Version,
    /// Number of characters of the text.
    pub char_count: u64,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Effective document of a folder or thread, and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedDocument {
    /// The effective document.
    pub doc: Document,
    /// Folder that holds it; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_folder_id: Option<FolderId>,
    /// Names of the folders down to it, root first; empty for the workspace root.
    // Names of folders may contain slashes, so a joined path would be ambiguous.
    pub source_path: Vec<String>,
    /// True if it comes from a scope above the requested one.
    pub inherited: bool,
    /// Requested folder, or the thread's; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_for_folder_id: Option<FolderId>,
    /// Time of the resolution.
    pub resolved_at: Timestamp,
}

/// A saved version without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionSummary {
    /// Version number of the revision.
    pub version: Version,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Number of characters of the text.
    pub char_count: u64,
    /// Time of the save.
    pub saved_at: Timestamp,
    /// Name of the token that saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_by: Option<String>,
    /// Reason for the revision.
    pub save_reason: RevisionReason,
    /// Message of the save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Version whose text was restored; absent if the revision is not a restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Version>,
    /// Program that saved it with that token, as it calls itself; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A saved version with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// All fields except the text.
    #[serde(flatten)]
    pub summary: RevisionSummary,
    /// The saved text.
    pub content: String,
}

/// A problem to show to the user although the save succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable code, such as `over_prompt_budget`.
    pub code: String,
    /// Description of the problem, with advice.
    pub message: String,
}
