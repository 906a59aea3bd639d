//! The hidden tools that threads have asked for.

use futures_util::future::BoxFuture;
use protocol::{ThreadId, WorkspaceId};

use crate::column::values;
use crate::on::{Columns, On};
use crate::{Store, StoreError};

impl Store {
    /// The hidden tools that a thread has asked for, in the order in which it did.
    pub fn requested_tools<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        const NAMES: &str = "SELECT names FROM requested_tools WHERE thread_id = $1 AND workspace_id = $2";
        Box::pin(async move {
            let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
            self.read(async move |on: &mut On<'_>| {
                let read = |mut row: Columns<'_>| row.json::<Vec<String>>("requested tools");
                let found = on.one_by_key(NAMES, values![&thread_id, &workspace_id], read).await?;
                Ok(found.unwrap_or_default())
            })
            .await
        })
    }
}

/// Replaces what a thread has asked for. Whoever writes runs the thread's turn, so nobody else does.
pub(crate) async fn write(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    names: &str,
) -> Result<(), StoreError> {
    const WRITE: &str = "INSERT INTO requested_tools (thread_id, workspace_id, names, updated_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (thread_id) DO UPDATE SET names = excluded.names, updated_at = excluded.updated_at";
    let now = on.now();
    on.execute(WRITE, values![thread_id, workspace_id, names, now]).await?;
    Ok(())
}
