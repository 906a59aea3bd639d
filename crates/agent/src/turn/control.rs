//! Watching, cancelling and sweeping turns, wherever they run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::method::{TurnGetResult, TurnWatchResult};
use protocol::{Timestamp, Turn, TurnId, TurnStatus, WorkspaceId};

use crate::agent::Agent;
use crate::error::AgentError;
use crate::turn::handles::AnswerSoFar;
use crate::turn::lifecycle::turn_error;
use crate::turn::listener::TurnListener;
use crate::turn::start::POLL_INTERVAL;

/// Upper bound on the end of a valid lease, allowing for clock differences between gateways.
const LONGEST_LEASE: Duration = Duration::from_secs(75);
/// Time a cancellation waits for the end of the turn, first on this gateway and then on another.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);
/// Dead turns that are failed per sweep.
const SWEEP_BATCH: u64 = 100;

impl Agent {
    /// Returns a turn and subscribes to the rest of its answer, if it runs in this process.
    pub fn watch_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        watcher: Arc<dyn TurnListener>,
    ) -> BoxFuture<'a, Result<TurnWatchResult, AgentError>> {
        Box::pin(async move {
            let unheard = |TurnGetResult { turn, approvals, delegated, .. }| {
                let text = turn.answer.clone().unwrap_or_default();
                TurnWatchResult { turn, text, next_index: None, approvals, delegated }
            };
            // Check before subscribing: a turn of another workspace must look like a missing one.
            let view = self.turn_view(workspace_id, turn_id).await?;
            if view.turn.status != TurnStatus::Running {
                return Ok(unheard(view));
            }
            let watched = self.running.watch(turn_id, watcher);
            // The turn may have ended in the meantime. It stays in the list of running turns until its hooks have
            // finished, so being able to watch it proves nothing.
            let view = self.turn_view(workspace_id, turn_id).await?;
            Ok(match watched.filter(|_| view.turn.status == TurnStatus::Running) {
                Some(AnswerSoFar { text, next_index }) => {
                    let answer = (!text.is_empty()).then(|| text.clone());
                    let TurnGetResult { turn, approvals, delegated, .. } = view;
                    let turn = Turn { answer, ..turn };
                    let next_index = Some(next_index);
                    TurnWatchResult { turn, text, next_index, approvals, delegated }
                }
                None => unheard(view),
            })
        })
    }

    /// Stops a turn, wherever it runs, and returns it once it has ended, or as it is if that takes too long.
    pub fn cancel_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Turn, AgentError>> {
        Box::pin(async move {
            let turn = self.store.turn(workspace_id, turn_id).await?;
            if turn.status != TurnStatus::Running {
                return Ok(turn);
            }
            // The gateway may be dead without any sweep having noticed yet.
            self.fail_dead_turns().await?;
            // Store the request before looking for the turn in this process: the gateway that runs it may be another
            // one, which finds the request in the store.
            let asked = self.store.request_stop(workspace_id, turn_id, actor).await?;
            // A turn held up by a hook or a disk ends later on its own; the caller gets its current state.
            let stopping = tokio::time::timeout(CANCEL_TIMEOUT, self.running.stop(turn_id));
            if asked.status != TurnStatus::Running || stopping.await.unwrap_or(true) {
                return Ok(self.store.turn(workspace_id, turn_id).await?);
            }
            let ended = async {
                loop {
                    let turn = self.store.turn(workspace_id, turn_id).await?;
                    if turn.status != TurnStatus::Running {
                        return Ok(turn);
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            match tokio::time::timeout(CANCEL_TIMEOUT, ended).await {
                Ok(turn) => turn,
                // Its gateway is dead or very busy. The turn ends with its lease at the latest.
                Err(_) => {
                    self.fail_dead_turns().await?;
                    Ok(self.store.turn(workspace_id, turn_id).await?)
                }
            }
        })
    }

    /// Fails the turns of dead gateways and returns their number.
    pub fn fail_dead_turns(&self) -> BoxFuture<'_, Result<usize, AgentError>> {
        Box::pin(async move {
            let error = turn_error(&AgentError::GatewayGone);
            let now = self.store.now();
            let connected = self.running.ids();
            // Turns in this process are excluded: a busy machine may miss a renewal, and such a turn notices and
            // renews on its own.
            let expired = self.store.fail_expired_turns(now, SWEEP_BATCH, &connected, &error).await?;
            // If the clock was set back, a lease from before would block its thread until the clock catches up.
            let longest = i64::try_from(LONGEST_LEASE.as_millis()).unwrap_or(i64::MAX);
            let latest = Timestamp::from_milliseconds(now.milliseconds().saturating_add(longest));
            let misdated =
                self.store.fail_turns_leased_beyond(latest, SWEEP_BATCH, &connected, &error).await?;
            Ok(expired.len() + misdated.len())
        })
    }
}
