//! A change of one workspace: locked, logged and committed together.

use protocol::notification::{ChangeOrigin, TreeChange, WorkspaceEvent};
use protocol::{
    AuditEvent, DocumentSummary, ErrorSubject, FolderId, Sequence, ThreadId, Timestamp, WorkspaceId,
};
use serde::Serialize;

use crate::change_log::Wake;
use crate::column::{Value, to_json, values};
use crate::connection::Tx;
use crate::{Store, StoreError, audit};

/// Takes the next sequence number of the workspace `$1`, and with it the lock of its row, which orders writers.
// Data that depends on the lock must be read by later statements: on PostgreSQL, a statement that waited for a lock
// still sees other tables as they were when it began.
const TAKE_SEQUENCE: &str = "UPDATE workspace SET seq = seq + 1 WHERE id = $1 RETURNING seq";

/// A running change of one workspace.
// A change that logs nothing leaves no trace.
pub(crate) struct WorkspaceWrite<'a, 'c> {
    pub(crate) tx: &'a mut Tx<'c>,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) actor: Option<String>,
    pub(crate) now: Timestamp,
    /// Sequence number of the first change, already stored in the workspace's row.
    taken: Sequence,
    entries: Vec<LogEntry>,
}

/// A change before it has a sequence number.
#[derive(Clone)]
pub(crate) struct LogEntry {
    pub(crate) method: &'static str,
    /// JSON of the notification's parameters, without the sequence number and the origin.
    pub(crate) body: String,
}

impl LogEntry {
    pub(crate) fn new(method: &'static str, body: &impl Serialize) -> Result<Self, StoreError> {
        Ok(Self { method, body: to_json(body)? })
    }

    pub(crate) fn of_workspace(
        workspace_id: &WorkspaceId,
        event: &WorkspaceEvent,
    ) -> Result<Self, StoreError> {
        Self::new(event.method(), &WorkspaceEventBody { workspace_id, event })
    }
}

/// The body of a workspace's event in the change log.
#[derive(Serialize)]
struct WorkspaceEventBody<'a> {
    workspace_id: &'a WorkspaceId,
    #[serde(flatten)]
    event: &'a WorkspaceEvent,
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
        // Held until the commit: on PostgreSQL it limits the connections that wait for this workspace's lock.
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
        Self { now: tx.now(), tx, workspace_id, actor, taken, entries: Vec::new() }
    }

    /// Records an event in the audit log.
    pub(crate) async fn audit(&mut self, event: AuditEvent) -> Result<(), StoreError> {
        audit::record(self.tx, self.actor.as_deref(), Some(&self.workspace_id), event).await
    }

    /// Adds a change to the log, which is written by [`Self::finish`].
    pub(crate) fn log(&mut self, entry: LogEntry) {
        self.entries.push(entry);
    }

    /// Logs a change of a document.
    pub(crate) fn document_changed(
        &mut self,
        folder_id: Option<FolderId>,
        summary: Option<DocumentSummary>,
        effective_changed: bool,
    ) -> Result<(), StoreError> {
        let event = WorkspaceEvent::DocumentChanged { folder_id, summary, effective_changed };
        self.log(LogEntry::of_workspace(&self.workspace_id, &event)?);
        Ok(())
    }

    /// Logs a change of the tree.
    pub(crate) fn tree_changed(
        &mut self,
        reason: TreeChange,
        folder_id: Option<FolderId>,
        thread_id: Option<ThreadId>,
    ) -> Result<(), StoreError> {
        let event = WorkspaceEvent::TreeChanged { reason, folder_id, thread_id };
        self.log(LogEntry::of_workspace(&self.workspace_id, &event)?);
        Ok(())
    }

    /// Writes the log and wakes the workspace's followers after commit.
    pub(crate) async fn finish(self) -> Result<(), StoreError> {
        let Some(further) = self.entries.len().checked_sub(1) else {
            self.tx.discard();
            return Ok(());
        };
        if further > 0 {
            // The first number was taken with the lock, before it was known how many changes there would be.
            let newest = Sequence(self.taken.0 + further as u64);
            let update = "UPDATE workspace SET seq = $1 WHERE id = $2";
            self.tx.execute(update, values![newest, &self.workspace_id]).await?;
        }
        let mut rows: Vec<Value<'_>> = Vec::with_capacity(self.entries.len() * 6);
        for (seq, entry) in (self.taken.0..).zip(&self.entries) {
            rows.extend_from_slice(values![
                &self.workspace_id,
                seq,
                self.now,
                &self.actor,
                entry.method,
                &entry.body
            ]);
        }
        let insert = "INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params) VALUES";
        self.tx.insert(insert, 6, &rows, "").await?;
        let origin = ChangeOrigin { changed_at: self.now, changed_by: self.actor };
        self.tx.wake(Wake::logged(self.workspace_id, self.taken, &origin, self.entries));
        Ok(())
    }
}
