//! The change log: what happened in a workspace, in order.

use protocol::{Sequence, WorkspaceId};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbBackend, EntityTrait, QueryFilter, QueryOrder,
    QuerySelect, Statement,
};

use crate::entity::{change_log, workspace};
use crate::only::Only as _;
use crate::{Store, StoreError, listener};

/// Says where there may be something new. A wake may come for nothing, and is never the only word of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// This workspace's change log, or what was asked of its running turns.
    Workspace(WorkspaceId),
    /// The access tokens.
    Tokens,
    /// Anything: notifications may have been lost.
    Everything,
}

/// One row of the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its place in the log.
    pub seq: Sequence,
    /// Method of the notification that tells of it.
    pub method: String,
    /// Parameters of that notification as JSON.
    pub params: String,
}

impl Store {
    /// The newest sequence number of a workspace.
    pub async fn sequence(&self, workspace_id: &WorkspaceId) -> Result<Sequence, StoreError> {
        let seq: Option<i64> = workspace::Entity::find_by_id(workspace_id.as_str())
            .select_only()
            .column(workspace::Column::Seq)
            .into_tuple()
            .only(self.readers())
            .await?;
        seq.map(Sequence::from_column).ok_or_else(|| StoreError::not_found("workspace", workspace_id))
    }

    /// Changes after a sequence number, oldest first, at most `limit`.
    pub async fn changes_after(
        &self,
        workspace_id: &WorkspaceId,
        since: Sequence,
        limit: u64,
    ) -> Result<Vec<Change>, StoreError> {
        let rows: Vec<(i64, String, String)> = change_log::Entity::find()
            .select_only()
            .columns([change_log::Column::Seq, change_log::Column::Method, change_log::Column::Params])
            .filter(change_log::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(change_log::Column::Seq.gt(since.to_column()))
            .order_by_asc(change_log::Column::Seq)
            .limit(limit)
            .into_tuple()
            .all(self.readers())
            .await?;
        Ok(rows
            .into_iter()
            .map(|(seq, method, params)| Change { seq: Sequence::from_column(seq), method, params })
            .collect())
    }

    /// Commits what the change log does not tell of, and wakes whoever follows the workspace, at every gateway.
    pub(crate) async fn commit_and_wake(
        &self,
        transaction: DatabaseTransaction,
        workspace_id: &WorkspaceId,
    ) -> Result<(), StoreError> {
        if self.backend() == DbBackend::Postgres {
            // A row of the log would do it by itself; here there is none.
            let channel_and_payload = [listener::CHANGE.into(), workspace_id.as_str().into()];
            let notify = "SELECT pg_notify($1, $2)";
            let notify = Statement::from_sql_and_values(self.backend(), notify, channel_and_payload);
            transaction.execute_raw(notify).await?;
        }
        transaction.commit().await?;
        self.wake(Wake::Workspace(workspace_id.clone()));
        Ok(())
    }
}
