//! Revisions of a scope.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ErrorSubject, Revision, RevisionSummary, Version};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::documents::scope::in_scope;
use crate::tree::folders;
use crate::{Scope, Store, StoreError};

impl Store {
    /// Returns a scope's revisions before a version, newest first, without their texts.
    pub fn history<'a>(
        &'a self,
        scope: &'a Scope,
        limit: u64,
        before: Option<Version>,
    ) -> BoxFuture<'a, Result<Vec<RevisionSummary>, StoreError>> {
        let scope = scope.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            check_scope(tx, &scope).await?;
            let select = in_scope!(
                scope,
                "SELECT version, content_sha256, char_count, saved_at, saved_by, save_reason, message,
            restored_from, client
            FROM thread_agents_doc_revision WHERE",
                "AND version < $3 ORDER BY version DESC LIMIT $4"
            );
            let before = before.map_or(i64::MAX, Version::to_column);
            let values = values![&scope.workspace_id, scope.folder_id.as_ref(), before, limit];
            tx.all(select, values, |mut row| read_summary(&mut row)).await
        })
        .boxed()
    }

    /// Returns one revision with its text.
    pub fn revision<'a>(
        &'a self,
        scope: &'a Scope,
        version: Version,
    ) -> BoxFuture<'a, Result<Revision, StoreError>> {
        let scope = scope.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            check_scope(tx, &scope).await?;
            let select = in_scope!(
                scope,
                "SELECT version, content_sha256, char_count, saved_at, saved_by, save_reason, message,
            restored_from, client, content
            FROM thread_agents_doc_revision WHERE",
                "AND version = $3"
            );
            let values = values![&scope.workspace_id, scope.folder_id.as_ref(), version];
            let found = tx.one_by_key(select, values, |mut row| {
                Ok(Revision { summary: read_summary(&mut row)?, content: row.next()? })
            });
            found.await?.ok_or_else(|| StoreError::not_found(ErrorSubject::Revision, version))
        })
        .boxed()
    }
}

fn read_summary(row: &mut Columns<'_>) -> Result<RevisionSummary, StoreError> {
    Ok(RevisionSummary {
        version: row.next()?,
        content_sha256: row.next()?,
        char_count: row.next()?,
        saved_at: row.next()?,
        saved_by: row.next()?,
        save_reason: row.next()?,
        message: row.next()?,
        restored_from: row.next()?,
        client: row.next()?,
    })
}

async fn check_scope(tx: &mut Tx<'_>, scope: &Scope) -> Result<(), StoreError> {
    match &scope.folder_id {
        // Revisions of a deleted folder's document remain readable.
        Some(folder_id) => folders::check_existed(tx, &scope.workspace_id, folder_id).await,
        None => tx.sequence(&scope.workspace_id).await.map(drop),
    }
}
