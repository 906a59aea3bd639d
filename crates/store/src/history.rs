//! Revisions of a scope.

use protocol::{ContentHash, Revision, RevisionSummary, Timestamp, Version};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use crate::entity::{self, revision};
use crate::only::Only as _;
use crate::{Scope, Store, StoreError};

/// Which part of a history is wanted.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPage {
    /// Most revisions.
    pub limit: u64,
    /// Only versions below this one.
    pub before: Option<Version>,
}

type Row = (i64, String, i64, i64, Option<String>, String);

impl Store {
    /// A scope's revisions, newest first, without their texts.
    pub async fn history(
        &self,
        scope: &Scope,
        page: HistoryPage,
    ) -> Result<Vec<RevisionSummary>, StoreError> {
        self.check_scope(scope).await?;
        let mut query = revision::Entity::find()
            .select_only()
            .columns([
                revision::Column::Version,
                revision::Column::ContentSha256,
                revision::Column::CharCount,
                revision::Column::SavedAt,
                revision::Column::SavedBy,
                revision::Column::SaveReason,
            ])
            .filter(scope.revisions())
            .order_by_desc(revision::Column::Version)
            .limit(page.limit);
        if let Some(before) = page.before {
            query = query.filter(revision::Column::Version.lt(before.to_column()));
        }
        let rows: Vec<Row> = query.into_tuple().all(self.readers()).await?;
        rows.into_iter().map(summary).collect()
    }

    /// One revision with its text.
    pub async fn revision(&self, scope: &Scope, version: Version) -> Result<Revision, StoreError> {
        self.check_scope(scope).await?;
        revision::Entity::find()
            .filter(scope.revisions())
            .filter(revision::Column::Version.eq(version.to_column()))
            .only(self.readers())
            .await?
            .ok_or_else(|| StoreError::not_found("revision", version))?
            .try_into()
    }

    async fn check_scope(&self, scope: &Scope) -> Result<(), StoreError> {
        match &scope.folder_id {
            Some(folder_id) => self.folder(&scope.workspace_id, folder_id).await.map(drop),
            None => self.sequence(&scope.workspace_id).await.map(drop),
        }
    }
}

fn summary(
    (version, sha256, characters, saved_at, saved_by, reason): Row,
) -> Result<RevisionSummary, StoreError> {
    Ok(RevisionSummary {
        version: Version::from_column(version),
        content_sha256: ContentHash::from_stored(sha256),
        char_count: u64::try_from(characters).unwrap_or(0),
        saved_at: Timestamp::from_milliseconds(saved_at),
        saved_by,
        save_reason: entity::word(&reason)?,
    })
}
