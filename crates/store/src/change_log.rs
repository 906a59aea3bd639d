//! The change log: what happened in a workspace, in order.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::notification::ChangeOrigin;
use protocol::{ErrorSubject, Sequence, WorkspaceId};

use crate::column::values;
use crate::connection::Tx;
use crate::write::workspace_write::LogEntry;
use crate::{Store, StoreError};

/// A hint that there may be something new. `Logged` also carries the new rows, which a receiver may use if they
/// continue what it has.
// A wake may be spurious, and a change may arrive without one: receivers read the log, and also look at it on a timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// This workspace's change log, or cancellation requests for its running turns.
    Workspace(WorkspaceId),
    /// Changes that this store has added to a workspace's log.
    Logged(Arc<LoggedChanges>),
    Tokens,
    /// Anything: notifications may have been lost.
    Everything,
}

impl Wake {
    /// Makes the wake for entries that were logged under `first` and the following numbers.
    pub(crate) fn logged(
        workspace_id: WorkspaceId,
        first: Sequence,
        origin: &ChangeOrigin,
        entries: Vec<LogEntry>,
    ) -> Self {
        let changes = (first.0..).zip(entries).map(|(seq, LogEntry { method, body })| Change {
            seq: Sequence(seq),
            origin: origin.clone(),
            method: method.to_owned(),
            body,
        });
        Self::Logged(Arc::new(LoggedChanges { workspace_id, changes: changes.collect() }))
    }

    /// Returns the workspace, or `None` if the wake is not about a single one.
    pub fn workspace_id(&self) -> Option<&WorkspaceId> {
        match self {
            Self::Workspace(workspace_id) => Some(workspace_id),
            Self::Logged(logged) => Some(&logged.workspace_id),
            Self::Tokens | Self::Everything => None,
        }
    }
}

/// Committed rows that were added to the change log together.
#[derive(Debug, PartialEq, Eq)]
pub struct LoggedChanges {
    pub workspace_id: WorkspaceId,
    /// At least one change, with consecutive sequence numbers.
    pub changes: Vec<Change>,
}

/// One row of the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Position in the log.
    pub seq: Sequence,
    /// Time and author of the change.
    pub origin: ChangeOrigin,
    /// Method of its notification.
    pub method: String,
    /// Parameters of its notification as JSON, without the sequence number and the origin.
    pub body: String,
}

impl Store {
    /// Returns the newest sequence number of a workspace.
    pub fn sequence<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
    ) -> BoxFuture<'a, Result<Sequence, StoreError>> {
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| tx.sequence(&workspace_id).await).boxed()
    }

    /// Returns changes after a sequence number, oldest first, at most `limit`.
    pub fn changes_after<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        since: Sequence,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<Change>, StoreError>> {
        const CHANGES: &str = "SELECT seq, changed_at, actor, method, params FROM change_log
        WHERE workspace_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.all(CHANGES, values![&workspace_id, since, limit], |mut row| {
                let seq = row.next()?;
                let origin = ChangeOrigin { changed_at: row.next()?, changed_by: row.next()? };
                Ok(Change { seq, origin, method: row.next()?, body: row.next()? })
            })
            .await
        })
        .boxed()
    }
}

impl Tx<'_> {
    pub(crate) async fn sequence(&mut self, workspace_id: &WorkspaceId) -> Result<Sequence, StoreError> {
        let select = "SELECT seq FROM workspace WHERE id = $1";
        let seq = self.one_by_key(select, values![workspace_id], |mut row| row.next()).await?;
        seq.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, workspace_id))
    }

    /// Returns the error for something that was not found: the workspace itself may be unknown.
    // A query by workspace and id finds no row in both cases, and the second query is only needed on failure.
    pub(crate) async fn missing(
        &mut self,
        workspace_id: &WorkspaceId,
        what: ErrorSubject,
        id: impl ToString,
    ) -> StoreError {
        match self.sequence(workspace_id).await {
            Ok(_) => StoreError::not_found(what, id),
            Err(error) => error,
        }
    }
}
