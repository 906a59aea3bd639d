//! Texts of prompts, each kept once by its digest, for as long as it is used.

use std::collections::{BTreeMap, HashMap};

use protocol::{ContentHash, Timestamp, WorkspaceId};
use sea_orm::sea_query::{Alias, Expr, ExprTrait as _, OnConflict};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};

use crate::entity::prompt_text;
use crate::{Store, StoreError, name};

/// A text that was used more recently than this is not marked as used again.
const USE_IS_NEWS_AFTER_MILLISECONDS: i64 = 60 * 60 * 1000;
/// Texts of one statement; their values stay below what either database takes.
const BATCH: usize = 500;

/// A text and the digest that it is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// SHA-256 of the text.
    pub sha256: ContentHash,
    /// The text.
    pub content: String,
}

impl PromptText {
    /// A text with its digest.
    pub fn new(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { sha256: ContentHash::of(&content), content }
    }
}

impl Store {
    /// Keeps texts, or marks those that are there as used: all of them, or none.
    ///
    /// A text that was used within the last hour is not even written to.
    pub async fn put_prompt_texts(
        &self,
        workspace_id: &WorkspaceId,
        texts: &[PromptText],
    ) -> Result<(), StoreError> {
        // In order, so that of two gateways neither waits for a row of the other's; and each only once.
        let mut wanted = BTreeMap::new();
        for text in texts {
            check(text)?;
            wanted.insert(text.sha256.as_str(), text.content.as_str());
        }
        self.sequence(workspace_id).await?;
        let now = Timestamp::now().milliseconds();
        let stale = now - USE_IS_NEWS_AFTER_MILLISECONDS;
        for fresh in self.used_since(workspace_id, wanted.keys().copied().collect(), stale).await? {
            wanted.remove(fresh.as_str());
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let rows: Vec<prompt_text::Model> = wanted
            .into_iter()
            .map(|(sha256, content)| prompt_text::Model {
                workspace_id: workspace_id.to_string(),
                sha256: sha256.to_owned(),
                content: content.to_owned(),
                chars: i64::try_from(content.chars().count()).unwrap_or(i64::MAX),
                last_used_at: now,
            })
            .collect();
        let transaction = self.begin_write().await?;
        for batch in rows.chunks(BATCH) {
            let last_used = (Alias::new("prompt_text"), prompt_text::Column::LastUsedAt);
            let mut used =
                OnConflict::columns([prompt_text::Column::WorkspaceId, prompt_text::Column::Sha256]);
            used.update_column(prompt_text::Column::LastUsedAt)
                .action_and_where(Expr::col(last_used).lt(stale));
            let batch = batch.iter().cloned().map(IntoActiveModel::into_active_model);
            prompt_text::Entity::insert_many(batch)
                .on_conflict(used)
                .exec_without_returning(&transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The texts with these digests; one that is not kept, or no longer, is absent.
    pub async fn prompt_texts(
        &self,
        workspace_id: &WorkspaceId,
        digests: &[ContentHash],
    ) -> Result<HashMap<ContentHash, String>, StoreError> {
        let mut found = HashMap::new();
        for batch in digests.chunks(BATCH) {
            let rows: Vec<(String, String)> = prompt_text::Entity::find()
                .select_only()
                .columns([prompt_text::Column::Sha256, prompt_text::Column::Content])
                .filter(prompt_text::Column::WorkspaceId.eq(workspace_id.as_str()))
                .filter(prompt_text::Column::Sha256.is_in(batch.iter().map(ContentHash::as_str)))
                .into_tuple()
                .all(self.readers())
                .await?;
            found.extend(rows.into_iter().map(|(sha256, text)| (ContentHash::from_stored(sha256), text)));
        }
        if found.is_empty() {
            self.sequence(workspace_id).await?;
        }
        Ok(found)
    }

    /// Forgets the texts that were last used before a moment, of one workspace or of all, and says how many.
    ///
    /// A text may have been used for up to an hour longer than its mark says.
    pub async fn prune_prompt_texts(
        &self,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut delete = prompt_text::Entity::delete_many()
            .filter(prompt_text::Column::LastUsedAt.lt(older_than.milliseconds()));
        if let Some(workspace_id) = workspace_id {
            self.sequence(workspace_id).await?;
            delete = delete.filter(prompt_text::Column::WorkspaceId.eq(workspace_id.as_str()));
        }
        let transaction = self.begin_write().await?;
        let deleted = delete.exec(&transaction).await?.rows_affected;
        transaction.commit().await?;
        Ok(deleted)
    }

    /// Those of the digests whose texts are there and were used after a moment.
    async fn used_since(
        &self,
        workspace_id: &WorkspaceId,
        digests: Vec<&str>,
        since: i64,
    ) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        for batch in digests.chunks(BATCH) {
            // The moment is compared here: SQLite would rather look through all texts of the workspace since then.
            let rows: Vec<(String, i64)> = prompt_text::Entity::find()
                .select_only()
                .columns([prompt_text::Column::Sha256, prompt_text::Column::LastUsedAt])
                .filter(prompt_text::Column::WorkspaceId.eq(workspace_id.as_str()))
                .filter(prompt_text::Column::Sha256.is_in(batch.iter().copied()))
                .into_tuple()
                .all(self.readers())
                .await?;
            found.extend(rows.into_iter().filter(|(_, used)| *used >= since).map(|(sha256, _)| sha256));
        }
        Ok(found)
    }
}

fn check(text: &PromptText) -> Result<(), StoreError> {
    name::check_text("content", &text.content)?;
    if ContentHash::of(&text.content) != text.sha256 {
        return Err(StoreError::invalid("sha256", "is not the digest of its text"));
    }
    Ok(())
}
