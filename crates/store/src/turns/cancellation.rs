//! Cancellation: a turn is asked to stop, and the gateway that runs it notices.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ThreadId, Turn, TurnId, TurnStatus, WorkspaceId};

use crate::change_log::Wake;
use crate::column::values;
use crate::connection::Tx;
use crate::turns::lease;
use crate::turns::turn::{read_turn, turn_columns};
use crate::{Store, StoreError};

/// A turn that failed or was cancelled.
#[derive(Debug, Clone, PartialEq)]
pub struct UnansweredTurn {
    pub turn: Turn,
    /// Author of the request to stop, if there was one.
    pub stopped_by: Option<String>,
}

impl Store {
    /// Asks a running turn to stop, whichever gateway runs it, and wakes the workspace. A turn that has ended is left
    /// alone.
    ///
    /// Only the first request counts. The turn ends when its owner has noticed it.
    pub fn request_stop<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Turn, StoreError>> {
        Box::pin(async move {
            let workspace_id = workspace_id.clone();
            let id = turn_id.clone();
            let stopped_by = actor.map(str::to_owned);
            let (turn, is_news) = self
                .write(async move |tx: &mut Tx<'_>| {
                    let (turn, hold) = lease::lock_turn(tx, &workspace_id, &id).await?;
                    if hold.status != TurnStatus::Running || hold.stop_requested_at.is_some() {
                        return Ok((turn, false));
                    }
                    let stop = "UPDATE turn SET stop_requested_at = $1, stop_requested_by = $2 WHERE id = $3";
                    tx.execute(stop, values![tx.now(), &stopped_by, &id]).await?;
                    // A request to stop is not a change in the log, so only the wake reports it.
                    tx.wake(Wake::Workspace(workspace_id));
                    Ok((turn, true))
                })
                .await?;
            if is_news {
                tracing::info!(turn = %turn_id, actor, "a turn was asked to stop");
            }
            Ok(turn)
        })
    }

    /// Returns the newest turns of a thread between two ordinals, both exclusive, that ended without an answer, newest
    /// first.
    pub fn unanswered_turns<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        after: u64,
        before: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<UnansweredTurn>, StoreError>> {
        const UNANSWERED: &str = concat!(
            "SELECT ",
            turn_columns!(),
            ", turn.stop_requested_by FROM turn
        WHERE workspace_id = $1 AND thread_id = $2 AND ordinal > $3 AND ordinal < $4
            AND status IN ('failed', 'cancelled')
        ORDER BY ordinal DESC LIMIT $5"
        );
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&workspace_id, &thread_id, after, before, limit];
            tx.all(UNANSWERED, values, |mut row| {
                Ok(UnansweredTurn { turn: read_turn(&mut row)?, stopped_by: row.next()? })
            })
            .await
        })
        .boxed()
    }
}
