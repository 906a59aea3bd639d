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
use crate::turn::start::ASK_AGAIN;

/// No lease that is given ends later than this from then, and not by the differences between clocks either.
const LONGEST_LEASE: Duration = Duration::from_secs(75);
/// How long somebody who stops a turn waits for its end, here and then at another gateway.
const STOP_TIME: Duration = Duration::from_secs(15);
/// Turns of dead gateways that are failed at once.
const SWEEP: u64 = 100;

impl Agent {
    /// Shows a turn, and lets somebody hear the rest of its answer; nothing is heard of one that does not run here.
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
            // Before anybody listens: a turn of another workspace is not there.
            let view = self.turn_view(workspace_id, turn_id).await?;
            if view.turn.status != TurnStatus::Running {
                return Ok(unheard(view));
            }
            let watched = self.running.watch(turn_id, watcher);
            // It may have ended since it was looked at; its hooks run a little longer.
            let view = self.turn_view(workspace_id, turn_id).await?;
            Ok(match watched.filter(|_| view.turn.status == TurnStatus::Running) {
                Some(AnswerSoFar { text, next_index }) => {
                    let answer = (!text.is_empty()).then(|| text.clone());
                    let TurnGetResult { turn, approvals, delegated, .. } = view;
                    let (turn, next_index) = (Turn { answer, ..turn }, Some(next_index));
                    TurnWatchResult { turn, text, next_index, approvals, delegated }
                }
                None => unheard(view),
            })
        })
    }

    /// Stops a turn, wherever it runs, and answers with it when it has ended, or as it is when that takes too long.
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
            // Perhaps its gateway is gone and nobody has noticed yet.
            self.fail_dead_turns().await?;
            let asked = self.store.request_stop(workspace_id, turn_id, actor).await?;
            // One that does not end in time, because of a hook or a disk, goes on ending without anybody who waits.
            let stopping = tokio::time::timeout(STOP_TIME, self.running.stop(turn_id));
            if asked.status != TurnStatus::Running || stopping.await.unwrap_or(true) {
                return Ok(self.store.turn(workspace_id, turn_id).await?);
            }
            let ended = async {
                loop {
                    let turn = self.store.turn(workspace_id, turn_id).await?;
                    if turn.status != TurnStatus::Running {
                        return Ok(turn);
                    }
                    tokio::time::sleep(ASK_AGAIN).await;
                }
            };
            match tokio::time::timeout(STOP_TIME, ended).await {
                Ok(turn) => turn,
                // Its gateway is gone, or very busy: the turn ends with its lease.
                Err(_) => {
                    self.fail_dead_turns().await?;
                    Ok(self.store.turn(workspace_id, turn_id).await?)
                }
            }
        })
    }

    /// Fails the turns of gateways that are no more, and says how many.
    pub fn fail_dead_turns(&self) -> BoxFuture<'_, Result<usize, AgentError>> {
        Box::pin(async move {
            let error = turn_error(&AgentError::GatewayGone);
            let (now, living) = (self.store.now(), self.running.ids());
            let expired = self.store.fail_expired_turns(now, SWEEP, &living, &error).await?;
            // A lease from before the clock was set back would hold its thread until the clock is there again.
            let longest = i64::try_from(LONGEST_LEASE.as_millis()).unwrap_or(i64::MAX);
            let latest = Timestamp::from_milliseconds(now.milliseconds().saturating_add(longest));
            let misdated = self.store.fail_turns_leased_beyond(latest, SWEEP, &living, &error).await?;
            Ok(expired.len() + misdated.len())
        })
    }
}
