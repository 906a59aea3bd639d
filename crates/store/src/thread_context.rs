//! Contexts: which turns of a thread the model no longer reads, and the summary that stands for them.

use protocol::{ThreadId, Timestamp, Version, WorkspaceId};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};

use crate::entity::{self, thread_context};
use crate::write::insert_if_absent;
use crate::{Store, StoreError, name, thread};

/// A thread's context as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadContext {
    /// The thread.
    pub thread_id: ThreadId,
    /// Turns up to this ordinal are left out of requests.
    pub through: u64,
    /// What stands for them.
    pub summary: Option<String>,
    /// Counts the saves from 1.
    pub version: Version,
    /// When it was saved.
    pub updated_at: Timestamp,
}

impl Store {
    /// A thread's context, if it has one; without one nothing is left out.
    pub async fn thread_context(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Option<ThreadContext>, StoreError> {
        let found = thread_context::Entity::find_by_id(thread_id.as_str())
            .filter(thread_context::Column::WorkspaceId.eq(workspace_id.as_str()))
            .one(self.readers())
            .await?;
        if found.is_none() {
            self.thread(workspace_id, thread_id).await?;
        }
        found.map(ThreadContext::try_from).transpose()
    }

    /// Saves a thread's context over the version that it is based on; 0 means that there is none yet.
    ///
    /// None says that somebody else saved in between, and that nothing was written.
    pub async fn save_thread_context(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        through: u64,
        summary: Option<&str>,
        expected: Version,
    ) -> Result<Option<ThreadContext>, StoreError> {
        summary.map_or(Ok(()), |summary| name::check_text("summary", summary))?;
        // Without the workspace's lock: the statement itself holds the guard, and a thread is never deleted.
        let transaction = self.begin_write().await?;
        if let Err(error) = thread::find(&transaction, workspace_id, thread_id).await {
            self.sequence(workspace_id).await?;
            return Err(error);
        }
        let row = thread_context::Model {
            thread_id: thread_id.to_string(),
            workspace_id: workspace_id.to_string(),
            through: entity::to_column(through),
            summary: summary.map(str::to_owned),
            version: expected.next().to_column(),
            updated_at: Timestamp::now().milliseconds(),
        };
        let written = if expected == Version(0) {
            insert_if_absent(&transaction, row.clone(), thread_context::Column::ThreadId).await?
        } else {
            replace(&transaction, &row, expected).await?
        };
        if written != 1 {
            return Ok(None);
        }
        transaction.commit().await?;
        Ok(Some(row.try_into()?))
    }
}

async fn replace(
    connection: &impl ConnectionTrait,
    row: &thread_context::Model,
    expected: Version,
) -> Result<u64, StoreError> {
    let updated = thread_context::Entity::update_many()
        .col_expr(thread_context::Column::Through, Expr::value(row.through))
        .col_expr(thread_context::Column::Summary, Expr::value(row.summary.clone()))
        .col_expr(thread_context::Column::Version, Expr::value(row.version))
        .col_expr(thread_context::Column::UpdatedAt, Expr::value(row.updated_at))
        .filter(thread_context::Column::ThreadId.eq(row.thread_id.as_str()))
        .filter(thread_context::Column::Version.eq(expected.to_column()))
        .exec(connection)
        .await?;
    Ok(updated.rows_affected)
}
