//! Sessions: what a thread carries from one turn to the next.

use protocol::{ThreadId, Timestamp, Version, WorkspaceId};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use serde_json::Value;

use crate::entity::session;
use crate::write::insert_if_absent;
use crate::{Store, StoreError, thread};

/// A session as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The thread.
    pub thread_id: ThreadId,
    /// What is carried.
    pub state: Value,
    /// Counts the saves from 1.
    pub version: Version,
    /// When it was saved.
    pub updated_at: Timestamp,
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionSave {
    /// The session is now this one.
    Saved(Session),
    /// Somebody else saved in between, and nothing was written: this is what there is.
    Changed(Option<Session>),
}

impl Store {
    /// A thread's session, if it has one.
    pub async fn session(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Option<Session>, StoreError> {
        let found = find(self.readers(), workspace_id, thread_id).await?;
        if found.is_none() {
            self.thread(workspace_id, thread_id).await?;
        }
        Ok(found)
    }

    /// Saves a thread's session over the version that it is based on; 0 means that there is none yet.
    pub async fn save_session(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        state: &Value,
        expected: Version,
    ) -> Result<SessionSave, StoreError> {
        // Without the workspace's lock: the statement itself holds the guard, and a thread is never deleted.
        let transaction = self.begin_write().await?;
        if let Err(error) = thread::find(&transaction, workspace_id, thread_id).await {
            self.sequence(workspace_id).await?;
            return Err(error);
        }
        if let Some(session) = write(&transaction, workspace_id, thread_id, state, expected).await? {
            transaction.commit().await?;
            return Ok(SessionSave::Saved(session));
        }
        Ok(SessionSave::Changed(find(&transaction, workspace_id, thread_id).await?))
    }
}

/// Writes a session over the version that it is based on; none says that there is another one.
pub(crate) async fn write(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    state: &Value,
    expected: Version,
) -> Result<Option<Session>, StoreError> {
    let row = session::Model {
        thread_id: thread_id.to_string(),
        workspace_id: workspace_id.to_string(),
        state: state.to_string(),
        version: expected.next().to_column(),
        updated_at: Timestamp::now().milliseconds(),
    };
    let written = if expected == Version(0) {
        insert_if_absent(connection, row.clone(), session::Column::ThreadId).await?
    } else {
        replace(connection, &row, expected).await?
    };
    if written == 1 { row.try_into().map(Some) } else { Ok(None) }
}

async fn replace(
    connection: &impl ConnectionTrait,
    row: &session::Model,
    expected: Version,
) -> Result<u64, StoreError> {
    let updated = session::Entity::update_many()
        .col_expr(session::Column::State, Expr::value(row.state.as_str()))
        .col_expr(session::Column::Version, Expr::value(row.version))
        .col_expr(session::Column::UpdatedAt, Expr::value(row.updated_at))
        .filter(session::Column::ThreadId.eq(row.thread_id.as_str()))
        .filter(session::Column::Version.eq(expected.to_column()))
        .exec(connection)
        .await?;
    Ok(updated.rows_affected)
}

pub(crate) async fn find(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<Option<Session>, StoreError> {
    session::Entity::find_by_id(thread_id.as_str())
        .filter(session::Column::WorkspaceId.eq(workspace_id.as_str()))
        .one(connection)
        .await?
        .map(Session::try_from)
        .transpose()
}
