//! Sessions: the state that a thread carries from one turn to the next.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{Session, ThreadId, ThreadSession, Timestamp, Version, WorkspaceId};

use crate::column::{to_json, values};
use crate::connection::{Columns, Statement, Tx};
use crate::tree::threads;
use crate::{Store, StoreError};

impl Store {
    /// Returns a thread's session, if it has one.
    pub fn session<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<ThreadSession>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let found = find(tx, &workspace_id, &thread_id).await?;
            if found.is_none() {
                threads::find_or_missing(tx, &workspace_id, &thread_id).await?;
            }
            Ok(found)
        })
        .boxed()
    }

    /// Saves a thread's session over the version that it is based on, or version 0 if there is none.
    ///
    /// [`StoreError::SessionChanged`] means that it was saved by another caller in between and that nothing was
    /// written.
    pub fn save_session<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        state: Session,
        expected: Version,
    ) -> BoxFuture<'a, Result<ThreadSession, StoreError>> {
        Box::pin(async move {
            let workspace_id = workspace_id.clone();
            let thread_id = thread_id.clone();
            let text = to_json(&state)?;
            // The workspace need not be locked: the statement itself checks the version, and threads are never deleted.
            self.write(async move |tx: &mut Tx<'_>| {
                threads::find_or_missing(tx, &workspace_id, &thread_id).await?;
                let (version, updated_at) = write(tx, &workspace_id, &thread_id, &text, expected).await?;
                Ok(ThreadSession { thread_id, version, updated_at, state })
            })
            .await
        })
    }
}

/// Inserts the first session of a thread, or replaces the version that it is based on.
// `$1` to `$4` are the text, the new version, the time, and the workspace or the replaced version.
macro_rules! write_session {
    (first, $thread:literal) => {
        concat!(
            "INSERT INTO session (thread_id, workspace_id, state, version, updated_at) VALUES (",
            $thread,
            ", $4, $1, $2, $3) ON CONFLICT (thread_id) DO NOTHING"
        )
    };
    (next, $thread:literal) => {
        concat!(
            "UPDATE session SET state = $1, version = $2, updated_at = $3 WHERE version = $4 AND thread_id = ",
            $thread
        )
    };
}

/// Writes a session over the version that it is based on.
pub(crate) async fn write(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    text: &str,
    expected: Version,
) -> Result<(Version, Timestamp), StoreError> {
    let version = expected.next();
    let updated_at = tx.now();
    let written = if expected == Version(0) {
        let values = values![text, version, updated_at, workspace_id, thread_id];
        tx.execute(write_session!(first, "$5"), values).await?
    } else {
        let values = values![text, version, updated_at, expected, thread_id];
        tx.execute(write_session!(next, "$5"), values).await?
    };
    // No row was written if the version differs, or if a first session exists already.
    if written == 1 {
        Ok((version, updated_at))
    } else {
        Err(StoreError::SessionChanged { thread_id: thread_id.clone(), expected })
    }
}

/// The same as a part of a larger statement, whose `subject` has the thread; it writes one row or none.
pub(crate) fn write_of_subject<'a>(
    workspace_id: &'a WorkspaceId,
    text: &'a str,
    expected: Version,
    now: Timestamp,
) -> Statement<'a> {
    let version = expected.next();
    if expected == Version(0) {
        let sql = write_session!(first, "(SELECT thread_id FROM subject)");
        Statement { sql: sql.into(), values: values![text, version, now, workspace_id].to_vec() }
    } else {
        let sql = write_session!(next, "(SELECT thread_id FROM subject)");
        Statement { sql: sql.into(), values: values![text, version, now, expected].to_vec() }
    }
}

pub(crate) async fn find(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
) -> Result<Option<ThreadSession>, StoreError> {
    let select = "SELECT thread_id, version, updated_at, state FROM session WHERE thread_id = $1 AND workspace_id = $2";
    tx.one_by_key(select, values![thread_id, workspace_id], |mut row| read_session(&mut row)).await
}

pub(crate) fn read_session(row: &mut Columns<'_>) -> Result<ThreadSession, StoreError> {
    let thread_id = row.next()?;
    let version = row.next()?;
    let updated_at = row.next()?;
    let text: String = row.next()?;
    // Parsed by the protocol and not as ordinary JSON: a session names its format, and one of another format is
    // rejected with that name.
    let state =
        protocol::parse_session(text.as_bytes()).map_err(|error| StoreError::unreadable("session", error))?;
    Ok(ThreadSession { thread_id, version, updated_at, state })
}
