//! Leases: which gateway runs a turn, and when the others may take it for dead.

use protocol::{Timestamp, TurnId, WorkspaceId};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{
    ColumnTrait, DatabaseTransaction, DbBackend, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
};
use serde_json::Value;

use crate::entity::{self, turn as row, workspace};
use crate::turn::{self, FinishTurn, Turn, TurnEnd};
use crate::{Store, StoreError};

/// A gateway's claim on a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The gateway.
    pub owner: String,
    /// Until when the turn counts as alive.
    pub expires_at: Timestamp,
}

impl Store {
    /// Keeps a turn alive; refused once it has ended, or is not `lease.owner`'s.
    pub async fn renew_lease(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        lease: &Lease,
    ) -> Result<(), StoreError> {
        let transaction = self.begin_write().await?;
        let renewed = row::Entity::update_many()
            .col_expr(row::Column::LeaseExpiresAt, Expr::value(lease.expires_at.milliseconds()))
            .filter(row::Column::Id.eq(turn_id.as_str()))
            .filter(row::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(row::running())
            .filter(row::Column::LeaseOwner.eq(lease.owner.as_str()))
            .exec(&transaction)
            .await?;
        if renewed.rows_affected == 1 {
            return Ok(transaction.commit().await?);
        }
        self.held_turn(&transaction, workspace_id, turn_id, &lease.owner).await?;
        Err(StoreError::InvalidState(format!("turn `{turn_id}` changed hands; ask again")))
    }

    /// Running turns whose lease is over at `now`, the longest dead first, at most `limit`.
    ///
    /// Of all workspaces: it is a gateway's own question, and no client's.
    pub async fn expired_turns(&self, now: Timestamp, limit: u64) -> Result<Vec<Turn>, StoreError> {
        let rows = row::Entity::find()
            .filter(row::running())
            .filter(row::Column::LeaseExpiresAt.lte(now.milliseconds()))
            .order_by_asc(row::Column::LeaseExpiresAt)
            .limit(limit)
            .all(self.readers())
            .await?;
        rows.into_iter().map(Turn::try_from).collect()
    }

    /// Fails the turns that [`Store::expired_turns`] finds, and answers with those that were failed here.
    ///
    /// A turn whose lease was renewed in between, or that was ended by another, is left alone; so is one of `living`,
    /// which runs although its gateway was asleep.
    pub async fn fail_expired_turns(
        &self,
        now: Timestamp,
        limit: u64,
        living: &[TurnId],
        error: &Value,
    ) -> Result<Vec<Turn>, StoreError> {
        let mut failed = Vec::new();
        for expired in self.expired_turns(now, limit).await? {
            if living.contains(&expired.id) {
                continue;
            }
            let write = self.write(&expired.workspace_id, None).await?;
            let present = turn::find(&write.transaction, &expired.workspace_id, &expired.id).await?;
            let is_dead = present.lease_expires_at.is_some_and(|expires| expires <= now.milliseconds());
            if !is_dead {
                continue;
            }
            let finish =
                FinishTurn { end: TurnEnd::Failed, error: Some(error.clone()), usage: None, session: None };
            let guard = row::Column::LeaseExpiresAt.lte(now.milliseconds());
            match write.finish_turn(present, finish, guard).await {
                Ok(turn) => failed.push(turn),
                // Renewed after it was read: a renewal does not wait for the workspace.
                Err(StoreError::InvalidState(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(failed)
    }

    /// The row of a running turn that `owner` runs, locked until the transaction ends.
    pub(crate) async fn held_turn(
        &self,
        transaction: &DatabaseTransaction,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
    ) -> Result<row::Model, StoreError> {
        let found = self.locked_turn(transaction, workspace_id, turn_id).await?;
        check_held(&found, owner)?;
        Ok(found)
    }

    /// The row of a turn, whoever runs it, locked until the transaction ends.
    pub(crate) async fn locked_turn(
        &self,
        transaction: &DatabaseTransaction,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<row::Model, StoreError> {
        let mut query = row::Entity::find_by_id(turn_id.as_str())
            .filter(row::Column::WorkspaceId.eq(workspace_id.as_str()));
        if self.backend() == DbBackend::Postgres {
            // First the workspace and then the turn, as everybody else: what is inserted for the turn needs the
            // workspace's row too, and who ends the turn has locked that one already.
            let workspace: Option<String> = workspace::Entity::find_by_id(workspace_id.as_str())
                .select_only()
                .column(workspace::Column::Id)
                .lock(LockType::KeyShare)
                .into_tuple()
                .one(transaction)
                .await?;
            workspace.ok_or_else(|| StoreError::not_found("workspace", workspace_id))?;
            query = query.lock(LockType::NoKeyUpdate);
        }
        let Some(found) = query.one(transaction).await? else {
            self.sequence(workspace_id).await?;
            return Err(StoreError::not_found("turn", turn_id));
        };
        Ok(found)
    }
}

/// Refuses a turn that has ended, or that another runs.
pub(crate) fn check_held(row: &row::Model, owner: &str) -> Result<(), StoreError> {
    let status: protocol::TurnStatus = entity::word(&row.status)?;
    if status != protocol::TurnStatus::Running {
        return Err(StoreError::InvalidState(format!("turn `{}` has ended: it is {}", row.id, row.status)));
    }
    match row.lease_owner.as_deref() {
        Some(holder) if holder == owner => Ok(()),
        holder => Err(StoreError::InvalidState(format!(
            "turn `{}` is run by `{}`, not by `{owner}`",
            row.id,
            holder.unwrap_or("nobody")
        ))),
    }
}
