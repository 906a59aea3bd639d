//! AGENTS.md documents: one per scope, versioned, with revisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ContentHash, DocumentId, FolderId, Timestamp, Version, WorkspaceId};

/// The title every document has.
pub const TITLE: &str = "AGENTS.md";

/// What a document counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStatus {
    /// Exists, but is only white space: shown to people, never effective.
    Draft,
    /// Has text and takes part in resolution.
    Active,
    /// Was removed; kept for its revisions.
    Archived,
}

/// Why a client saves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaveReason {
    /// An editor saved while its user was typing.
    Autosave,
    /// Somebody asked for it.
    #[default]
    Manual,
}

/// Why a revision exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevisionReason {
    /// An editor saved while its user was typing.
    Autosave,
    /// Somebody asked for it.
    Manual,
    /// The document was archived; the revision keeps its last text.
    Archive,
    /// An older revision was made current again.
    Restore,
}

impl From<SaveReason> for RevisionReason {
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
    /// Stable until the document is archived.
    pub id: DocumentId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The folder it governs; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Draft, active or archived.
    pub status: DocumentStatus,
    /// Always `AGENTS.md`.
    pub title: String,
    /// The normalised text.
    pub content: String,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Counts the changes of the scope.
    pub version: Version,
    /// Characters of the text.
    pub char_count: u64,
    /// When the document was first saved.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was archived.
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
    /// The document without its text.
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

/// A document without its text, as trees and notifications carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSummary {
    /// Stable until the document is archived.
    pub id: DocumentId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The folder it governs; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<FolderId>,
    /// Draft, active or archived.
    pub status: DocumentStatus,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Counts the changes of the scope.
    pub version: Version,
    /// Characters of the text.
    pub char_count: u64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The nearest active document of a folder or thread, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedDocument {
    /// The effective document.
    pub doc: Document,
    /// The folder that holds it; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_folder_id: Option<FolderId>,
    /// Names of the folders down to the one that holds it, root first; empty for the workspace root.
    pub source_path: Vec<String>,
    /// Whether it comes from a scope above the one asked about.
    pub inherited: bool,
    /// The folder asked about, or the thread's; absent for the workspace root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_for_folder_id: Option<FolderId>,
    /// When this answer was true.
    pub resolved_at: Timestamp,
}

/// One saved version, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionSummary {
    /// The version this revision made.
    pub version: Version,
    /// SHA-256 of the text.
    pub content_sha256: ContentHash,
    /// Characters of the text.
    pub char_count: u64,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Name of the token that saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_by: Option<String>,
    /// Why it was saved.
    pub save_reason: RevisionReason,
    /// What the change was for, as whoever saved it put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The version whose text a restore brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Version>,
}

/// One saved version with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// Everything but the text.
    #[serde(flatten)]
    pub summary: RevisionSummary,
    /// The text as it was saved.
    pub content: String,
}

/// Something a client should tell its user although the save succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable code, such as `over_prompt_budget`.
    pub code: String,
    /// What it means and what to do.
    pub message: String,
}
