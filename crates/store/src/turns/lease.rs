//! Leases: which gateway runs a turn, and until when it counts as alive.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ErrorSubject, Timestamp, Turn, TurnError, TurnId, TurnStatus, WorkspaceId};

use crate::column::values;
use crate::connection::{Columns, Statement, Tx};
use crate::turns::turn::{EndGuard, EndTurn, FinishTurn, TurnEnd, read_turn, turn_columns};
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Store, StoreError};

/// A gateway's claim on a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// Time until which the turn counts as alive.
    pub expires_at: Timestamp,
}

/// The state of a turn that gateways share. Clients see [`Turn`] instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnHold {
    pub status: TurnStatus,
    /// The gateway that runs the turn, or ran it last.
    pub owner: Option<String>,
    /// Time until which the turn counts as alive; `None` if it has ended.
    pub expires_at: Option<Timestamp>,
    pub stop_requested_at: Option<Timestamp>,
}

/// The columns that [`read_hold`] reads.
macro_rules! hold_columns {
    () => {
        "turn.status, turn.lease_owner, turn.lease_expires_at, turn.stop_requested_at"
    };
}

pub(crate) fn read_hold(row: &mut Columns<'_>) -> Result<TurnHold, StoreError> {
    Ok(TurnHold {
        status: row.next()?,
        owner: row.next()?,
        expires_at: row.next()?,
        stop_requested_at: row.next()?,
    })
}

impl Store {
    /// Returns the lease of a turn and whether it was asked to stop.
    pub fn turn_hold<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<TurnHold, StoreError>> {
        const HOLD: &str =
            concat!("SELECT ", hold_columns!(), " FROM turn WHERE id = $1 AND workspace_id = $2");
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&turn_id, &workspace_id];
            match tx.one_by_key(HOLD, values, |mut row| read_hold(&mut row)).await? {
                Some(hold) => Ok(hold),
                None => Err(tx.missing(&workspace_id, ErrorSubject::Turn, &turn_id).await),
            }
        })
        .boxed()
    }

    /// Extends the lease of a turn. Fails if the turn has ended or belongs to another owner.
    pub fn renew_lease<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        lease: &'a Lease,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        const RENEW: &str = "UPDATE turn SET lease_expires_at = $1
        WHERE id = $2 AND workspace_id = $3 AND turn.status = 'running' AND lease_owner = $4";
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        let lease = lease.clone();
        self.write(async move |tx: &mut Tx<'_>| {
            let values = values![lease.expires_at, &turn_id, &workspace_id, &lease.owner];
            if tx.execute(RENEW, values).await? == 1 {
                return Ok(());
            }
            let (turn, hold) = lock_turn(tx, &workspace_id, &turn_id).await?;
            check_held(&turn.id, &hold, &lease.owner)?;
            // The update did not match, and yet the turn is running and ours: it changed hands twice in between. The
            // caller must treat it as lost.
            Err(StoreError::NotHolder { turn_id, holder: None, owner: lease.owner })
        })
        .boxed()
    }

    /// Returns running turns of all workspaces whose lease is over at `now`, the oldest lease first, at most `limit`.
    /// Only gateways use it.
    pub fn expired_turns(&self, now: Timestamp, limit: u64) -> BoxFuture<'_, Result<Vec<Turn>, StoreError>> {
        const EXPIRED: &str = concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turn WHERE turn.status = 'running' AND lease_expires_at <= $1
        ORDER BY lease_expires_at LIMIT $2"
        );
        self.read(async move |tx: &mut Tx<'_>| {
            tx.all(EXPIRED, values![now, limit], |mut row| read_turn(&mut row)).await
        })
        .boxed()
    }

    /// Fails the turns that [`Store::expired_turns`] returns, and returns those that were failed here.
    ///
    /// A turn that was renewed or ended in between is left alone, and so is one of `living`: it is running in this
    /// process, which was asleep.
    pub fn fail_expired_turns<'a>(
        &'a self,
        now: Timestamp,
        limit: u64,
        living: &'a [TurnId],
        error: &'a TurnError,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        Box::pin(async move {
            // Found without locks: most of the time there are none, and the update checks each one again.
            let expired = self.expired_turns(now, limit).await?;
            self.fail_turns(expired, living, &EndGuard::ExpiredAt(now), error).await
        })
    }

    /// Fails running turns whose lease ends after `latest`, which is later than any valid lease.
    // The clock was set back since then, and their gateway is gone. Only for an SQLite file, which has one gateway at a
    // time.
    pub fn fail_turns_leased_beyond<'a>(
        &'a self,
        latest: Timestamp,
        limit: u64,
        living: &'a [TurnId],
        error: &'a TurnError,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        Box::pin(async move {
            const BEYOND: &str = concat!(
                "SELECT ",
                turn_columns!(),
                " FROM turn WHERE turn.status = 'running' AND lease_expires_at > $1 ORDER BY id LIMIT $2"
            );
            if self.is_postgres() {
                return Ok(Vec::new());
            }
            let found = self
                .read(async move |tx: &mut Tx<'_>| {
                    tx.all(BEYOND, values![latest, limit], |mut row| read_turn(&mut row)).await
                })
                .await?;
            self.fail_turns(found, living, &EndGuard::LeasedBeyond(latest), error).await
        })
    }

    /// Fails those turns that are not `living` and for which the guard still holds.
    async fn fail_turns(
        &self,
        turns: Vec<Turn>,
        living: &[TurnId],
        guard: &EndGuard,
        error: &TurnError,
    ) -> Result<Vec<Turn>, StoreError> {
        let mut failed = Vec::new();
        for Turn { id, workspace_id, .. } in turns.into_iter().filter(|turn| !living.contains(&turn.id)) {
            let end = EndTurn::new(FinishTurn::new(TurnEnd::Failed(error.clone())))?;
            let guard = guard.clone();
            // Renewals do not lock the workspace, so the update itself checks again that the lease is over.
            let ended =
                self.write_workspace(&workspace_id, None, async move |write: &mut WorkspaceWrite<'_, '_>| {
                    write.end_turn(&id, &end, &guard).await
                });
            failed.extend(ended.await?);
        }
        Ok(failed)
    }
}

/// Returns a running turn of `owner`, locked until the transaction ends.
pub(crate) async fn lock_held_turn(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    owner: &str,
) -> Result<Turn, StoreError> {
    let (turn, hold) = lock_turn(tx, workspace_id, turn_id).await?;
    check_held(turn_id, &hold, owner)?;
    Ok(turn)
}

/// Returns a turn of any owner, locked until the transaction ends.
pub(crate) async fn lock_turn(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<(Turn, TurnHold), StoreError> {
    if tx.is_postgres() {
        // Every writer locks the workspace before the turn. Rows that are inserted for the turn lock the workspace too,
        // through their foreign key, and a writer that ends the turn already holds it: the opposite order would
        // deadlock.
        let lock = "SELECT id FROM workspace WHERE id = $1 FOR KEY SHARE";
        let found: Option<WorkspaceId> =
            tx.one_by_key(lock, values![workspace_id], |mut row| row.next()).await?;
        found.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, workspace_id))?;
    }
    lock_turn_of_locked(tx, workspace_id, turn_id).await
}

/// Locks a turn whose workspace is already locked.
pub(crate) async fn lock_turn_of_locked(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<(Turn, TurnHold), StoreError> {
    const TURN: &str = concat!(
        "SELECT ",
        turn_columns!(),
        ", ",
        hold_columns!(),
        " FROM turn WHERE id = $1 AND workspace_id = $2"
    );
    const LOCK: &str = concat!(
        "SELECT ",
        turn_columns!(),
        ", ",
        hold_columns!(),
        " FROM turn WHERE id = $1 AND workspace_id = $2 FOR NO KEY UPDATE"
    );
    let select = if tx.is_postgres() { LOCK } else { TURN };
    let read = |mut row: Columns<'_>| Ok((read_turn(&mut row)?, read_hold(&mut row)?));
    match tx.one_by_key(select, values![turn_id, workspace_id], read).await? {
        Some(turn) => Ok(turn),
        None => Err(tx.missing(workspace_id, ErrorSubject::Turn, turn_id).await),
    }
}

/// Selects a running turn of `owner`, as the subject of a larger statement.
pub(crate) fn held_subject<'a>(
    workspace_id: &'a WorkspaceId,
    turn_id: &'a TurnId,
    owner: &'a str,
) -> Statement<'a> {
    const HELD: &str = concat!(
        "SELECT ",
        turn_columns!(),
        " FROM turn WHERE id = $1 AND workspace_id = $2 AND turn.status = 'running' AND lease_owner = $3
            AND (SELECT seq FROM taken) > 0 FOR NO KEY UPDATE"
    );
    Statement { sql: HELD.into(), values: values![turn_id, workspace_id, owner].to_vec() }
}

/// Rejects a turn that has ended or belongs to another owner.
pub(crate) fn check_held(turn_id: &TurnId, hold: &TurnHold, owner: &str) -> Result<(), StoreError> {
    if hold.status != TurnStatus::Running {
        return Err(StoreError::TurnEnded { turn_id: turn_id.clone(), status: hold.status });
    }
    if hold.owner.as_deref() == Some(owner) {
        return Ok(());
    }
    let holder = hold.owner.clone();
    let owner = owner.to_owned();
    Err(StoreError::NotHolder { turn_id: turn_id.clone(), holder, owner })
}
