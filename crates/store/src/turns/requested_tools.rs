//! The hidden tools that threads have requested.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ThreadId, Timestamp, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Statement, Tx};
use crate::{Store, StoreError};

impl Store {
    /// Returns the hidden tools that a thread has requested, in the order of the requests.
    pub fn requested_tools<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        const NAMES: &str = "SELECT names FROM requested_tools WHERE thread_id = $1 AND workspace_id = $2";
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let read = |mut row: Columns<'_>| row.json::<Vec<String>>("requested tools");
            let found = tx.one_by_key(NAMES, values![&thread_id, &workspace_id], read).await?;
            Ok(found.unwrap_or_default())
        })
        .boxed()
    }
}

macro_rules! write_names {
    ($thread:literal) => {
        concat!(
            "INSERT INTO requested_tools (thread_id, workspace_id, names, updated_at) VALUES (",
            $thread,
            ", $1, $2, $3)
            ON CONFLICT (thread_id) DO UPDATE SET names = excluded.names, updated_at = excluded.updated_at"
        )
    };
}

/// Replaces the list of a thread.
// No concurrent writer exists: only the thread's running turn writes it.
pub(crate) async fn write(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    names: &str,
) -> Result<(), StoreError> {
    let now = tx.now();
    tx.execute(write_names!("$4"), values![workspace_id, names, now, thread_id]).await?;
    Ok(())
}

/// The same as a part of a larger statement, whose `subject` has the thread.
pub(crate) fn write_of_subject<'a>(
    workspace_id: &'a WorkspaceId,
    names: &'a str,
    now: Timestamp,
) -> Statement<'a> {
    let sql = write_names!("(SELECT thread_id FROM subject)");
    Statement { sql: sql.into(), values: values![workspace_id, names, now].to_vec() }
}
