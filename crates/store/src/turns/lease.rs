//! Leases: which gateway runs a turn, and when the others may take it for dead.

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
    /// Until when the turn counts as alive.
    pub expires_at: Timestamp,
}

/// What gateways know of a turn between them. It is apart from [`Turn`], which people are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnHold {
    pub status: TurnStatus,
    /// Who runs it, or ran it last.
    pub owner: Option<String>,
    /// Until when it counts as alive; none when it has ended.
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
    /// Who runs a turn, until when, and whether it was asked to stop.
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

    /// Keeps a turn alive; refused once it has ended, or is not `lease.owner`'s.
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
            // It was ours when it was looked at again, so the update must have found it: it changed hands in between.
            Err(StoreError::NotHolder { turn_id, holder: None, owner: lease.owner })
        })
        .boxed()
    }

    /// Running turns whose lease is over at `now`, the longest dead first, at most `limit`.
    ///
    /// Of all workspaces: it is a gateway's own question, and no client's.
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

    /// Fails the turns that [`Store::expired_turns`] finds, and answers with those that were failed here.
    ///
    /// A turn whose lease was renewed in between, or that was ended by another, is left alone; so is one of `living`,
    /// which runs although its gateway was asleep.
    pub fn fail_expired_turns<'a>(
        &'a self,
        now: Timestamp,
        limit: u64,
        living: &'a [TurnId],
        error: &'a TurnError,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        Box::pin(async move {
            let expired = self.expired_turns(now, limit).await?;
            self.fail_turns(expired, living, &EndGuard::ExpiredAt(now), error).await
        })
    }

    /// Fails running turns whose lease ends after `latest`, and so later than any that could have been given by now: the
    /// clock was set back since, and whoever ran them is gone. Only in an SQLite file, which has one gateway at a time.
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

    /// Fails those of some turns that are not `living` and for which the guard still holds.
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
            // A renewal does not wait for the workspace: whether the lease is over is asked again by the statement.
            let ended =
                self.write_workspace(&workspace_id, None, async move |write: &mut WorkspaceWrite<'_, '_>| {
                    write.end_turn(&id, &end, &guard).await
                });
            failed.extend(ended.await?);
        }
        Ok(failed)
    }
}

/// A running turn that `owner` runs, locked until the transaction ends.
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

/// A turn, whoever runs it, locked until the transaction ends.
pub(crate) async fn lock_turn(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<(Turn, TurnHold), StoreError> {
    if tx.is_postgres() {
        // First the workspace and then the turn, as everybody else: what is inserted for the turn needs the
        // workspace's row too, and who ends the turn has locked that one already.
        let lock = "SELECT id FROM workspace WHERE id = $1 FOR KEY SHARE";
        let found: Option<WorkspaceId> =
            tx.one_by_key(lock, values![workspace_id], |mut row| row.next()).await?;
        found.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, workspace_id))?;
    }
    lock_turn_of_locked(tx, workspace_id, turn_id).await
}

/// The same where the workspace's row is locked already.
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

/// A running turn that `owner` runs, as the subject of a larger statement.
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

/// Refuses a turn that has ended, or that another runs.
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
