//! A change of one workspace: locked, logged and committed together.

use std::sync::Arc;

use protocol::notification::{
    ChangeOrigin, DocumentChanged, Notification, TreeChange, TreeChanged, TurnCancelled, TurnCompleted,
    TurnFailed, TurnStarted,
};
use protocol::{
    AuditEvent, DocumentSummary, ErrorSubject, FolderId, Sequence, ThreadId, Timestamp, Turn, TurnId,
    TurnStatus, WorkspaceId,
};

use crate::change_log::{Change, LoggedChanges, Wake};
use crate::column::{Value, to_json, values};
use crate::connection::Tx;
use crate::{Store, StoreError, audit};

/// Takes the next sequence number of the workspace `$1`, and with it the lock of its row, which orders writers.
// Data that depends on the lock must be read by later statements: on PostgreSQL, a statement that waited for a lock
// still sees other tables as they were when it began.
const TAKE_SEQUENCE: &str = "UPDATE workspace SET seq = seq + 1 WHERE id = $1 RETURNING seq";

/// A running change of one workspace. A change that logs nothing leaves no trace.
pub(crate) struct WorkspaceWrite<'a, 'c> {
    pub(crate) tx: &'a mut Tx<'c>,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) actor: Option<String>,
    pub(crate) now: Timestamp,
    /// The sequence number that the workspace's row already has, which is the first change's.
    taken: Sequence,
    changes: Vec<Logged>,
}

struct Logged {
    seq: Sequence,
    method: &'static str,
    params: String,
}

/// Where it is said what changes.
pub(crate) trait Log {
    /// Logs under the next number.
    fn log<N: Notification>(&mut self, notification: impl FnOnce(Sequence) -> N) -> Result<(), StoreError>;

    /// Logs that a turn of a thread has come to a status.
    fn turn_changed(&mut self, turn: TurnInLog, status: TurnStatus) -> Result<(), StoreError> {
        let TurnInLog { workspace_id, thread_id, turn_id, parent_turn_id } = turn;
        match status {
            TurnStatus::Running => {
                self.log(|seq| TurnStarted { seq, workspace_id, thread_id, turn_id, parent_turn_id })
            }
            TurnStatus::Completed => self.log(|seq| TurnCompleted { seq, workspace_id, thread_id, turn_id }),
            TurnStatus::Failed => self.log(|seq| TurnFailed { seq, workspace_id, thread_id, turn_id }),
            TurnStatus::Cancelled => self.log(|seq| TurnCancelled { seq, workspace_id, thread_id, turn_id }),
        }
    }
}

/// The turn that an entry is about.
#[derive(Clone)]
pub(crate) struct TurnInLog {
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) thread_id: ThreadId,
    pub(crate) turn_id: TurnId,
    pub(crate) parent_turn_id: Option<TurnId>,
}

impl From<&Turn> for TurnInLog {
    fn from(turn: &Turn) -> Self {
        Self {
            workspace_id: turn.workspace_id.clone(),
            thread_id: turn.thread_id.clone(),
            turn_id: turn.id.clone(),
            parent_turn_id: turn.parent_turn_id.clone(),
        }
    }
}

impl Log for WorkspaceWrite<'_, '_> {
    fn log<N: Notification>(&mut self, notification: impl FnOnce(Sequence) -> N) -> Result<(), StoreError> {
        let seq = Sequence(self.taken.0 + self.changes.len() as u64);
        let params = to_json(&notification(seq))?;
        self.changes.push(Logged { seq, method: N::NAME, params });
        Ok(())
    }
}

impl Store {
    /// Runs a change of a workspace, logs it and wakes its followers.
    pub(crate) async fn write_workspace<T, F>(
        &self,
        workspace_id: &WorkspaceId,
        actor: Option<&str>,
        change: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut WorkspaceWrite<'_, '_>) -> Result<T, StoreError> + Clone + Send + 'static,
    {
        let _permit = self.workspace_permit(workspace_id).await?;
        let workspace_id = workspace_id.clone();
        let actor = actor.map(str::to_owned);
        self.write(async move |tx: &mut Tx<'_>| {
            let mut write = WorkspaceWrite::begin(tx, workspace_id, actor).await?;
            let value = change(&mut write).await?;
            write.finish().await?;
            Ok(value)
        })
        .await
    }
}

impl<'a, 'c> WorkspaceWrite<'a, 'c> {
    pub(crate) async fn begin(
        tx: &'a mut Tx<'c>,
        workspace_id: WorkspaceId,
        actor: Option<String>,
    ) -> Result<Self, StoreError> {
        let taken = tx.one_by_key(TAKE_SEQUENCE, values![&workspace_id], |mut row| row.next()).await?;
        let taken = taken.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, &workspace_id))?;
        Ok(Self::numbered(tx, workspace_id, actor, taken))
    }

    /// Wraps a change whose sequence number is already in the workspace's row, or in the row that is being created.
    pub(crate) fn numbered(
        tx: &'a mut Tx<'c>,
        workspace_id: WorkspaceId,
        actor: Option<String>,
        taken: Sequence,
    ) -> Self {
        Self { now: tx.now(), tx, workspace_id, actor, taken, changes: Vec::new() }
    }

    /// Records an event in the audit log.
    pub(crate) async fn audit(&mut self, event: AuditEvent) -> Result<(), StoreError> {
        audit::record(self.tx, self.actor.as_deref(), Some(&self.workspace_id), event).await
    }

    /// Logs a change of a document.
    pub(crate) fn document_changed(
        &mut self,
        folder_id: Option<FolderId>,
        summary: Option<DocumentSummary>,
        effective_changed: bool,
    ) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        self.log(|seq| DocumentChanged { seq, workspace_id, folder_id, summary, effective_changed })
    }

    /// Logs a change of the tree.
    pub(crate) fn tree_changed(
        &mut self,
        reason: TreeChange,
        folder_id: Option<FolderId>,
        thread_id: Option<ThreadId>,
    ) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        self.log(|seq| TreeChanged { seq, workspace_id, reason, folder_id, thread_id })
    }

    /// Writes the log and wakes the workspace's followers after commit.
    pub(crate) async fn finish(self) -> Result<(), StoreError> {
        let Some(newest) = self.changes.last().map(|change| change.seq) else {
            self.tx.discard();
            return Ok(());
        };
        if newest > self.taken {
            let update = "UPDATE workspace SET seq = $1 WHERE id = $2";
            self.tx.execute(update, values![newest, &self.workspace_id]).await?;
        }
        let mut rows: Vec<Value<'_>> = Vec::with_capacity(self.changes.len() * 6);
        for change in &self.changes {
            rows.extend_from_slice(values![
                &self.workspace_id,
                change.seq,
                self.now,
                &self.actor,
                change.method,
                &change.params
            ]);
        }
        let insert = "INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params) VALUES";
        self.tx.insert(insert, 6, &rows, "").await?;
        let origin = ChangeOrigin { changed_at: self.now, changed_by: self.actor };
        let changes = self.changes.into_iter().map(|Logged { seq, method, params }| Change {
            seq,
            origin: origin.clone(),
            method: method.to_owned(),
            params,
        });
        let workspace_id = self.workspace_id;
        let changes = changes.collect();
        self.tx.wake(Wake::Logged(Arc::new(LoggedChanges { workspace_id, changes })));
        Ok(())
    }
}
