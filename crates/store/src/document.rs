//! Documents: versioned saves, restores and archives of a scope.

use protocol::document::TITLE;
use protocol::limits::MAX_DOCUMENT_BYTES;
use protocol::text::{is_blank, normalise};
use protocol::{
    ContentHash, Document, DocumentId, DocumentStatus, ResolvedDocument, RevisionReason, SaveReason, Version,
};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect, sea_query::Expr};

use crate::entity::{self, document, revision};
use crate::only::Only as _;
use crate::write::WorkspaceWrite;
use crate::{Scope, Store, StoreError};

/// A text to save.
#[derive(Debug, Clone)]
pub struct SaveDocument {
    /// Where.
    pub scope: Scope,
    /// The text as the client sent it.
    pub content: String,
    /// The version the client last saw; 0: no document may exist; none: whatever there is.
    pub expected_version: Option<Version>,
    /// Why.
    pub reason: SaveReason,
}

/// What a save led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The document as it now is.
    pub document: Document,
    /// Whether anything changed; identical text changes nothing.
    pub changed: bool,
}

impl Store {
    /// A scope's own document, and the one effective there, of one moment.
    pub async fn document(
        &self,
        scope: &Scope,
    ) -> Result<(Option<Document>, Option<ResolvedDocument>), StoreError> {
        let snapshot = self.begin_snapshot().await?;
        let effective = self.resolve_folder_on(&snapshot, scope).await?;
        let explicit = match &effective {
            // The nearest active document is the scope's own one: no need to look for it again.
            Some(resolved) if !resolved.inherited => Some(resolved.doc.clone()),
            _ => {
                let row = document::Entity::find()
                    .filter(scope.documents())
                    .filter(document::live())
                    .only(&snapshot)
                    .await?;
                row.map(Document::try_from).transpose()?
            }
        };
        snapshot.commit().await?;
        Ok((explicit, effective))
    }

    /// Saves a scope's document.
    pub async fn save_document(&self, save: SaveDocument, actor: Option<&str>) -> Result<Saved, StoreError> {
        let text = Text::new(&save.content)?;
        let write = self.write(&save.scope.workspace_id, actor).await?;
        let live = write.live_document(&save.scope).await?;
        write.put(&save.scope, live, text, save.expected_version, save.reason.into()).await
    }

    /// Makes an older revision's text current again, as a new version.
    pub async fn restore_document(
        &self,
        scope: &Scope,
        version: Version,
        expected_version: Option<Version>,
        actor: Option<&str>,
    ) -> Result<Saved, StoreError> {
        let write = self.write(&scope.workspace_id, actor).await?;
        let live = write.live_document(scope).await?;
        let content: Option<String> = revision::Entity::find()
            .select_only()
            .column(revision::Column::Content)
            .filter(scope.revisions())
            .filter(revision::Column::Version.eq(version.to_column()))
            .into_tuple()
            .only(&write.transaction)
            .await?;
        let content = content.ok_or_else(|| StoreError::not_found("revision", version))?;
        write.put(scope, live, Text::new(&content)?, expected_version, RevisionReason::Restore).await
    }

    /// Archives a scope's document; false when there is none.
    pub async fn archive_document(
        &self,
        scope: &Scope,
        expected_version: Option<Version>,
        actor: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(&scope.workspace_id, actor).await?;
        let live = write.live_document(scope).await?;
        check_version(expected_version, live.as_ref())?;
        let Some(row) = live else { return Ok(false) };
        write.archive(row).await?;
        write.commit().await?;
        Ok(true)
    }
}

/// A normalised text within its limit.
struct Text {
    content: String,
    sha256: ContentHash,
    characters: i64,
    status: DocumentStatus,
}

impl Text {
    fn new(content: &str) -> Result<Self, StoreError> {
        let content = normalise(content).into_owned();
        if content.len() > MAX_DOCUMENT_BYTES {
            return Err(StoreError::TooLarge { limit: MAX_DOCUMENT_BYTES, actual: content.len() });
        }
        if content.contains('\0') {
            return Err(StoreError::invalid("content", "must not contain a zero byte (U+0000)"));
        }
        let status = if is_blank(&content) { DocumentStatus::Draft } else { DocumentStatus::Active };
        let characters = i64::try_from(content.chars().count()).unwrap_or(i64::MAX);
        Ok(Self { sha256: ContentHash::of(&content), characters, status, content })
    }
}

fn check_version(expected: Option<Version>, live: Option<&document::Model>) -> Result<(), StoreError> {
    let actual = live.map_or(Version(0), |row| Version::from_column(row.version));
    match expected {
        Some(expected) if expected != actual => Err(StoreError::VersionConflict {
            expected,
            actual,
            current: live.cloned().map(|row| row.try_into().map(Box::new)).transpose()?,
        }),
        _ => Ok(()),
    }
}

impl WorkspaceWrite<'_> {
    /// Writes a text as the next version of a scope whose live document is given, unless the text is the same.
    async fn put(
        mut self,
        scope: &Scope,
        live: Option<document::Model>,
        text: Text,
        expected: Option<Version>,
        reason: RevisionReason,
    ) -> Result<Saved, StoreError> {
        if let Some(row) = &live
            && row.content_sha256 == text.sha256.as_str()
        {
            return Ok(Saved { document: row.clone().try_into()?, changed: false });
        }
        check_version(expected, live.as_ref())?;
        let was_active = live.as_ref().is_some_and(|row| row.status == "active");
        let row = match live {
            Some(row) => self.replace(row, text).await?,
            None => self.insert(scope, text).await?,
        };
        self.add_revision(&row, reason).await?;
        let document = Document::try_from(row)?;
        let is_active = document.status == DocumentStatus::Active;
        self.document_changed(scope.folder_id.clone(), Some(document.summary()), was_active || is_active)?;
        self.commit().await?;
        Ok(Saved { document, changed: true })
    }

    async fn insert(&self, scope: &Scope, text: Text) -> Result<document::Model, StoreError> {
        let newest: Option<i64> = revision::Entity::find()
            .select_only()
            .column_as(revision::Column::Version.max(), "newest")
            .filter(scope.revisions())
            .into_tuple()
            .only(&self.transaction)
            .await?
            .flatten();
        let now = self.now.milliseconds();
        let row = document::Model {
            id: DocumentId::new().to_string(),
            workspace_id: scope.workspace_id.to_string(),
            folder_id: scope.folder_column(),
            status: entity::to_word(&text.status),
            title: TITLE.to_owned(),
            content: text.content,
            content_sha256: text.sha256.to_string(),
            char_count: text.characters,
            version: newest.unwrap_or(0) + 1,
            created_at: now,
            updated_at: now,
            archived_at: None,
            created_by: self.actor.clone(),
            updated_by: self.actor.clone(),
        };
        document::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&self.transaction)
            .await?;
        Ok(row)
    }

    async fn replace(&self, row: document::Model, text: Text) -> Result<document::Model, StoreError> {
        let after = document::Model {
            status: entity::to_word(&text.status),
            content: text.content,
            content_sha256: text.sha256.to_string(),
            char_count: text.characters,
            version: row.version + 1,
            updated_at: self.now.milliseconds(),
            updated_by: self.actor.clone(),
            ..row
        };
        self.update_guarded(&after).await?;
        Ok(after)
    }

    /// Archives a document as its scope's next version, and logs it.
    pub(crate) async fn archive(&mut self, row: document::Model) -> Result<(), StoreError> {
        let was_active = row.status == "active";
        let now = self.now.milliseconds();
        let after = document::Model {
            status: entity::to_word(&DocumentStatus::Archived),
            version: row.version + 1,
            updated_at: now,
            archived_at: Some(now),
            updated_by: self.actor.clone(),
            ..row
        };
        self.update_guarded(&after).await?;
        self.add_revision(&after, RevisionReason::Archive).await?;
        let folder_id = after.folder_id.map(entity::id).transpose()?;
        self.document_changed(folder_id, None, was_active)
    }

    /// Updates a document only if it is still at the version before, whatever else may have gone wrong.
    async fn update_guarded(&self, after: &document::Model) -> Result<(), StoreError> {
        let updated = document::Entity::update_many()
            .col_expr(document::Column::Status, Expr::value(after.status.as_str()))
            .col_expr(document::Column::Content, Expr::value(after.content.as_str()))
            .col_expr(document::Column::ContentSha256, Expr::value(after.content_sha256.as_str()))
            .col_expr(document::Column::CharCount, Expr::value(after.char_count))
            .col_expr(document::Column::Version, Expr::value(after.version))
            .col_expr(document::Column::UpdatedAt, Expr::value(after.updated_at))
            .col_expr(document::Column::ArchivedAt, Expr::value(after.archived_at))
            .col_expr(document::Column::UpdatedBy, Expr::value(after.updated_by.clone()))
            .filter(document::Column::Id.eq(after.id.as_str()))
            .filter(document::Column::Version.eq(after.version - 1))
            .exec(&self.transaction)
            .await?;
        if updated.rows_affected == 1 {
            return Ok(());
        }
        let current = document::Entity::find_by_id(after.id.as_str()).only(&self.transaction).await?;
        let expected = Version::from_column(after.version - 1);
        let actual = current.as_ref().map_or(Version(0), |row| Version::from_column(row.version));
        let current = current.map(|row| row.try_into().map(Box::new)).transpose()?;
        Err(StoreError::VersionConflict { expected, actual, current })
    }

    async fn add_revision(&self, row: &document::Model, reason: RevisionReason) -> Result<(), StoreError> {
        let revision = revision::Model {
            id: DocumentId::new().to_string(),
            doc_id: row.id.clone(),
            workspace_id: row.workspace_id.clone(),
            folder_id: row.folder_id.clone(),
            version: row.version,
            content: row.content.clone(),
            content_sha256: row.content_sha256.clone(),
            char_count: row.char_count,
            saved_at: self.now.milliseconds(),
            saved_by: self.actor.clone(),
            save_reason: entity::to_word(&reason),
        };
        revision::Entity::insert(revision.into_active_model())
            .exec_without_returning(&self.transaction)
            .await?;
        Ok(())
    }
}
