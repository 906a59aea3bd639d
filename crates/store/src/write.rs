//! A change of one workspace: locked, logged and committed as one.

use protocol::notification::{
    DocumentChanged, Notification, TreeChange, TreeChanged, TurnCancelled, TurnCompleted, TurnFailed,
    TurnStarted,
};
use protocol::{DocumentSummary, FolderId, Sequence, ThreadId, Timestamp, TurnId, TurnStatus, WorkspaceId};
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait,
    IntoActiveModel, QueryFilter, Select, Statement, TryInsertResult, sea_query::Expr,
};

use crate::change::Wake;
use crate::entity::{change_log, document, folder, workspace};
use crate::only::Only as _;
use crate::{Scope, Store, StoreError};

/// Takes the next sequence number of the workspace `$1`, and with it the lock of its row, which orders writers.
///
/// What depends on the lock is read by later statements, because on PostgreSQL a statement that waited for a lock
/// still sees other tables as they were when it began.
const TAKE_SEQUENCE: &str = "UPDATE workspace SET seq = seq + 1 WHERE id = $1 RETURNING seq";

/// A running change. Dropped without [`WorkspaceWrite::commit`], it leaves no trace.
pub(crate) struct WorkspaceWrite<'a> {
    store: &'a Store,
    pub(crate) transaction: DatabaseTransaction,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) actor: Option<String>,
    pub(crate) now: Timestamp,
    /// The number that the workspace's row already has; the first change is logged under it.
    taken: Sequence,
    changes: Vec<change_log::ActiveModel>,
}

impl Store {
    /// Starts a change and waits for its turn.
    pub(crate) async fn write(
        &self,
        workspace_id: &WorkspaceId,
        actor: Option<&str>,
    ) -> Result<WorkspaceWrite<'_>, StoreError> {
        let transaction = self.begin_write().await?;
        let statement =
            Statement::from_sql_and_values(self.backend(), TAKE_SEQUENCE, [workspace_id.as_str().into()]);
        let row = transaction.query_one_raw(statement).await?;
        let row = row.ok_or_else(|| StoreError::not_found("workspace", workspace_id))?;
        let taken = Sequence::from_column(row.try_get_by_index(0)?);
        Ok(self.writing(transaction, workspace_id.clone(), actor, taken))
    }

    /// A change whose number is already in the workspace's row, or in the row that is being made.
    pub(crate) fn writing(
        &self,
        transaction: DatabaseTransaction,
        workspace_id: WorkspaceId,
        actor: Option<&str>,
        taken: Sequence,
    ) -> WorkspaceWrite<'_> {
        WorkspaceWrite {
            store: self,
            transaction,
            workspace_id,
            actor: actor.map(str::to_owned),
            now: Timestamp::now(),
            taken,
            changes: Vec::new(),
        }
    }
}

impl WorkspaceWrite<'_> {
    /// The folder's row, unless it is deleted or of another workspace.
    pub(crate) async fn folder(&self, folder_id: &FolderId) -> Result<folder::Model, StoreError> {
        find_folder(&self.transaction, &self.workspace_id, folder_id).await
    }

    /// The document of a scope that exists, unless it is archived.
    pub(crate) async fn live_document(&self, scope: &Scope) -> Result<Option<document::Model>, StoreError> {
        let Some(folder_id) = &scope.folder_id else {
            let select = document::Entity::find().filter(scope.documents()).filter(document::live());
            return Ok(select.only(&self.transaction).await?);
        };
        let select = select_folder(&self.workspace_id, folder_id).find_also_related(document::Entity);
        let found = select.only(&self.transaction).await?;
        let (_, document) = found.ok_or_else(|| StoreError::not_found("folder", folder_id))?;
        Ok(document)
    }

    /// Logs that a document changed.
    pub(crate) fn document_changed(
        &mut self,
        folder_id: Option<FolderId>,
        summary: Option<DocumentSummary>,
        effective_changed: bool,
    ) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        self.log(|seq| DocumentChanged { seq, workspace_id, folder_id, summary, effective_changed })
    }

    /// Logs that the tree changed.
    pub(crate) fn tree_changed(
        &mut self,
        reason: TreeChange,
        folder_id: Option<FolderId>,
        thread_id: Option<ThreadId>,
    ) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        self.log(|seq| TreeChanged { seq, workspace_id, reason, folder_id, thread_id })
    }

    /// Logs that a turn has come to a status.
    pub(crate) fn turn_changed(
        &mut self,
        status: TurnStatus,
        thread_id: ThreadId,
        turn_id: TurnId,
    ) -> Result<(), StoreError> {
        let workspace_id = self.workspace_id.clone();
        match status {
            TurnStatus::Running => self.log(|seq| TurnStarted { seq, workspace_id, thread_id, turn_id }),
            TurnStatus::Completed => self.log(|seq| TurnCompleted { seq, workspace_id, thread_id, turn_id }),
            TurnStatus::Failed => self.log(|seq| TurnFailed { seq, workspace_id, thread_id, turn_id }),
            TurnStatus::Cancelled => self.log(|seq| TurnCancelled { seq, workspace_id, thread_id, turn_id }),
        }
    }

    /// Logs under the next number.
    pub(crate) fn log<N: Notification>(
        &mut self,
        notification: impl FnOnce(Sequence) -> N,
    ) -> Result<(), StoreError> {
        let seq = self.number_of(self.changes.len());
        let params = serde_json::to_string(&notification(seq))
            .map_err(|error| StoreError::Database(error.to_string()))?;
        self.changes.push(change_log::ActiveModel {
            workspace_id: Set(self.workspace_id.to_string()),
            seq: Set(seq.to_column()),
            changed_at: Set(self.now.milliseconds()),
            actor: Set(self.actor.clone()),
            method: Set(N::NAME.to_owned()),
            params: Set(params),
        });
        Ok(())
    }

    /// The sequence number of the change at an index.
    fn number_of(&self, index: usize) -> Sequence {
        Sequence(self.taken.0 + index as u64)
    }

    /// Makes the change and its log permanent, then wakes whoever follows the workspace.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let newest = self.number_of(self.changes.len().saturating_sub(1));
        if newest > self.taken {
            workspace::Entity::update_many()
                .col_expr(workspace::Column::Seq, Expr::value(newest.to_column()))
                .filter(workspace::Column::Id.eq(self.workspace_id.as_str()))
                .exec(&self.transaction)
                .await?;
        }
        change_log::Entity::insert_many(self.changes).exec_without_returning(&self.transaction).await?;
        self.transaction.commit().await?;
        self.store.wake(Wake::Workspace(self.workspace_id));
        Ok(())
    }
}

/// A folder that exists in this workspace.
pub(crate) async fn find_folder(
    connection: &impl sea_orm::ConnectionTrait,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
) -> Result<folder::Model, StoreError> {
    select_folder(workspace_id, folder_id)
        .only(connection)
        .await?
        .ok_or_else(|| StoreError::not_found("folder", folder_id))
}

fn select_folder(workspace_id: &WorkspaceId, folder_id: &FolderId) -> Select<folder::Entity> {
    folder::Entity::find_by_id(folder_id.as_str())
        .filter(folder::Column::WorkspaceId.eq(workspace_id.as_str()))
        .filter(folder::Column::DeletedAt.is_null())
}

/// Inserts a row unless there is one with its key, and says how many were inserted.
pub(crate) async fn insert_if_absent<A, M>(
    connection: &impl ConnectionTrait,
    row: M,
    key: <A::Entity as EntityTrait>::Column,
) -> Result<u64, StoreError>
where
    A: ActiveModelTrait,
    M: IntoActiveModel<A>,
{
    let inserted = <A::Entity as EntityTrait>::insert(row.into_active_model())
        .on_conflict_do_nothing_on([key])
        .exec_without_returning(connection)
        .await?;
    Ok(match inserted {
        TryInsertResult::Inserted(count) => count,
        _ => 0,
    })
}
