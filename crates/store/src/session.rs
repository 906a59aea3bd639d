//! Sessions: what a thread carries from one turn to the next.

use protocol::{ThreadId, Timestamp, Version, WorkspaceId};
use serde_json::Value;

use crate::column::values;
use crate::on::{Columns, On};
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
        let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let found = find(on, &workspace_id, &thread_id).await?;
            if found.is_none() {
                thread::find_or_missing(on, &workspace_id, &thread_id).await?;
            }
            Ok(found)
        })
        .await
    }

    /// Saves a thread's session over the version that it is based on; 0 means that there is none yet.
    pub async fn save_session(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        state: &Value,
        expected: Version,
    ) -> Result<SessionSave, StoreError> {
        let (workspace_id, thread_id, state) = (workspace_id.clone(), thread_id.clone(), state.clone());
        // Without the workspace's lock: the statement itself holds the guard, and a thread is never deleted.
        self.write(async move |on: &mut On<'_>| {
            thread::find_or_missing(on, &workspace_id, &thread_id).await?;
            match write(on, &workspace_id, &thread_id, &state, expected).await? {
                Some(session) => Ok(SessionSave::Saved(session)),
                None => Ok(SessionSave::Changed(find(on, &workspace_id, &thread_id).await?)),
            }
        })
        .await
    }
}

/// Writes a session over the version that it is based on; none says that there is another one.
pub(crate) async fn write(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    state: &Value,
    expected: Version,
) -> Result<Option<Session>, StoreError> {
    const INSERT: &str = "INSERT INTO session (thread_id, workspace_id, state, version, updated_at)
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (thread_id) DO NOTHING";
    const REPLACE: &str = "UPDATE session SET state = $1, version = $2, updated_at = $3
        WHERE thread_id = $4 AND version = $5";
    let (text, version, updated_at) = (state.to_string(), expected.next(), Timestamp::now());
    let written = if expected == Version(0) {
        on.execute(INSERT, values![thread_id, workspace_id, &text, version, updated_at]).await?
    } else {
        on.execute(REPLACE, values![&text, version, updated_at, thread_id, expected]).await?
    };
    let session = || Session { thread_id: thread_id.clone(), state: state.clone(), version, updated_at };
    Ok((written == 1).then(session))
}

pub(crate) async fn find(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<Option<Session>, StoreError> {
    let select = "SELECT thread_id, state, version, updated_at FROM session WHERE thread_id = $1 AND workspace_id = $2";
    on.one_by_key(select, values![thread_id, workspace_id], |mut row| read_session(&mut row)).await
}

pub(crate) fn read_session(row: &mut Columns<'_>) -> Result<Session, StoreError> {
    Ok(Session { thread_id: row.next()?, state: row.next()?, version: row.next()?, updated_at: row.next()? })
}
