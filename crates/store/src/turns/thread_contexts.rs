//! Contexts: the turns that a thread leaves out of requests, and the summary in their place.

use futures_util::future::BoxFuture;
use protocol::{ThreadId, Timestamp, Version, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Tx};
use crate::tree::threads;
use crate::validation;
use crate::{Store, StoreError};

/// A stored context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadContext {
    pub thread_id: ThreadId,
    /// Turns up to this ordinal are left out of requests.
    pub through: u64,
    /// The summary of the turns that are left out.
    pub summary: Option<String>,
    /// Number of saves, from 1.
    pub version: Version,
    pub updated_at: Timestamp,
}

impl Store {
    /// Saves a thread's context over the version that it is based on, or version 0 if there is none.
    ///
    /// Returns `None` and writes nothing if another caller saved in between, or if something in the turns was
    /// forgotten.
    pub fn save_thread_context<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        through: u64,
        summary: Option<&'a str>,
        expected: Version,
    ) -> BoxFuture<'a, Result<Option<ThreadContext>, StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO thread_context (thread_id, workspace_id, through, summary, version,
            updated_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (thread_id) DO NOTHING";
            const REPLACE: &str =
                "UPDATE thread_context SET through = $1, summary = $2, version = $3, updated_at = $4
            WHERE thread_id = $5 AND version = $6";
            summary.map_or(Ok(()), |summary| validation::check_text("summary", summary))?;
            let workspace_id = workspace_id.clone();
            let thread_id = thread_id.clone();
            let summary = summary.map(str::to_owned);
            // The workspace need not be locked: the statement itself checks the version, and threads are never deleted.
            self.write(async move |tx: &mut Tx<'_>| {
                threads::find_or_missing(tx, &workspace_id, &thread_id).await?;
                let version = expected.next();
                let updated_at = tx.now();
                let written = if expected == Version(0) {
                    let values = values![&thread_id, &workspace_id, through, &summary, version, updated_at];
                    tx.execute(INSERT, values).await?
                } else {
                    let values = values![through, &summary, version, updated_at, &thread_id, expected];
                    tx.execute(REPLACE, values).await?
                };
                Ok((written == 1).then_some(ThreadContext {
                    thread_id,
                    through,
                    summary,
                    version,
                    updated_at,
                }))
            })
            .await
        })
    }
}

/// Reads a context from the first row of a history.
pub(crate) fn read_first_row(row: &mut Columns<'_>) -> Result<ThreadContext, StoreError> {
    let thread_id = row.next()?;
    let through = row.next()?;
    let updated_at = row.next()?;
    let summary = row.next()?;
    // A text, because the union with the items gives each column the type of theirs.
    let version: String = row.next()?;
    let version = version.parse().map_err(|error| StoreError::unreadable("version of a context", error))?;
    Ok(ThreadContext { thread_id, through, summary, version: Version(version), updated_at })
}
