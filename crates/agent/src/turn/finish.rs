//! The end of a turn: waits for its children and its stopped calls, then writes the outcome.

use std::time::Duration;

use protocol::message::{AttachedEffects, TurnItem, TurnMessage};
use protocol::round::RoundOutcome;
use protocol::{Session, TurnStatus, Version};
use provider::{Block, Message};
use store::{FinishTurn, StoreError, TurnEnd, TurnEvent};
use tokens::Encoding;
use tools::UnreportedCall;

use crate::error::AgentError;
use crate::turn::lease::RENEWAL;
use crate::turn::lifecycle::turn_error;
use crate::turn::running::RunningTurn;

/// Pause before the end of a turn is written again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Time after which writing the end is given up.
const RETRY_LIMIT: Duration = Duration::from_secs(600);

/// Time that stopped calls get to end their command and restore files. Both steps have shorter limits of their own.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(45);

/// State that a thread carries over from a completed turn.
pub(crate) struct ThreadAfter {
    /// The session, and the version it is based on.
    pub(crate) session: Option<Box<(Session, Version)>>,
    /// Hidden tools the thread has requested, if there are new ones.
    pub(crate) requested_tools: Option<Vec<String>>,
}

/// Outcome of a turn.
pub(crate) enum TurnOutcome {
    Completed(ThreadAfter),
    Failed(AgentError),
    Cancelled,
}

impl TurnOutcome {
    pub(crate) fn status(&self) -> TurnStatus {
        match self {
            Self::Completed(_) => TurnStatus::Completed,
            Self::Failed(_) => TurnStatus::Failed,
            Self::Cancelled => TurnStatus::Cancelled,
        }
    }
}

impl RunningTurn {
    /// Waits for the delegated turns. Stopping a turn stops its children, and its end must include their cost.
    pub(crate) async fn settle_children(&self) {
        // A tracker completes only after it was closed.
        self.children.close();
        // Keep the lease alive meanwhile, or another gateway would fail the turn while its children are still ending.
        let settled = tokio::time::timeout(SETTLE_TIMEOUT, self.children.wait());
        tokio::pin!(settled);
        loop {
            tokio::select! {
                settled = &mut settled => {
                    if settled.is_err() {
                        tracing::warn!(turn = %self.id(), "turn ended before its delegated turns");
                    }
                    return;
                }
                () = tokio::time::sleep(RENEWAL) => if let Err(error) = self.lease.renew().await {
                    tracing::warn!(%error, turn = %self.id(), "failed to renew the turn's lease");
                },
            }
        }
    }

    /// Waits for stopped calls to restore what they must, and returns their effects.
    async fn settle_calls(&self) -> (Option<TurnItem>, Vec<TurnEvent>) {
        let settling = self.untold.settle(SETTLE_TIMEOUT);
        tokio::pin!(settling);
        let calls = loop {
            tokio::select! {
                calls = &mut settling => break calls,
                () = tokio::time::sleep(RENEWAL) => if let Err(error) = self.lease.renew().await {
                    tracing::warn!(%error, turn = %self.id(), "failed to renew the turn's lease");
                },
            }
        };
        let calls = self.drop_stored_effects(calls).await;
        if calls.is_empty() {
            return (None, Vec::new());
        }
        for UnreportedCall { effects, .. } in &calls {
            for change in &effects.protected_changes {
                let path = &change.path;
                let what = change.change.name();
                let undone = change.undone;
                tracing::warn!(turn = %self.id(), path, what, undone, "stopped command had changed a protected file");
            }
        }
        // Record effects without results: it is unknown if a stopped call did what it was meant to.
        let effects = calls.iter().map(|UnreportedCall { call_id, effects, .. }| AttachedEffects {
            call_id: call_id.clone(),
            effects: effects.clone(),
        });
        let entry =
            TurnMessage { effects: effects.collect(), ..TurnMessage::new(Message::results(Vec::new())) };
        let events = calls.into_iter().map(|UnreportedCall { call_id, tool, effects }| {
            TurnEvent::ToolFinished { call_id, tool, is_error: true, reminders: Vec::new(), effects }
        });
        (Some(TurnItem::Message(entry)), events.collect())
    }

    /// Removes calls whose effects are stored already: a turn may be stopped while their results are being written.
    async fn drop_stored_effects(&self, mut calls: Vec<UnreportedCall>) -> Vec<UnreportedCall> {
        if calls.is_empty() {
            return calls;
        }
        // Ask the store rather than tracking writes here: one whose acknowledgement was lost counts as failed, although it
        // was committed. Writers hold this lock until their commit is done, so acquiring it waits for a write in flight.
        drop(self.pending.lock().await);
        let stored = self.agent.store.turn_items(self.workspace_id(), self.id()).await.unwrap_or_default();
        let is_stored = |call: &UnreportedCall| {
            let messages = stored.iter().filter_map(|item| match &item.item {
                TurnItem::Message(message) => Some(message),
                TurnItem::Context(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => {
                    None
                }
            });
            messages.flat_map(|message| &message.effects).any(|attached| attached.call_id == call.call_id)
        };
        calls.retain(|call| !is_stored(call));
        calls
    }

    /// Writes the end, and retries while the database is unavailable. Failing the turn would need the database as
    /// well, so an answer that a user has already read is given up late.
    pub(crate) async fn finish(&self, outcome: &TurnOutcome) {
        let (effects, events) = self.settle_calls().await;
        // Hold the lock until the end is stored, so that no write can slip in behind the last items.
        let mut last = self.pending.lock().await;
        // Only an interrupted turn can have text that was shown and not stored; a completed one has its whole answer
        // among its items.
        if !matches!(outcome, TurnOutcome::Completed(_)) {
            let outcome = self.unanswered_round();
            let text = self.pending_text(&last).await;
            last.extend(outcome);
            last.extend(text);
        }
        last.extend(effects);
        let (end, requested_tools) = match outcome {
            TurnOutcome::Completed(ThreadAfter { session, requested_tools }) => {
                (TurnEnd::Completed { session: session.clone() }, requested_tools.clone())
            }
            TurnOutcome::Failed(error) => (TurnEnd::Failed(turn_error(error)), None),
            TurnOutcome::Cancelled => (TurnEnd::Cancelled, None),
        };
        let usage = Some(self.handle.usage());
        let statistics = &self.agent.statistics;
        statistics.turn_ended(outcome.status(), self.model.name.provider(), self.handle.usage());
        let finish = FinishTurn { end, usage, items: last.clone(), events, requested_tools };
        let agent = &self.agent;
        let actor = self.subject.scope.actor.as_deref();
        let deadline = tokio::time::Instant::now() + RETRY_LIMIT;
        let may_wait = || tokio::time::Instant::now() < deadline && !agent.running.shutdown.is_cancelled();
        loop {
            let workspace_id = self.workspace_id();
            let finish = finish.clone();
            match agent.store.finish_turn(workspace_id, self.id(), &agent.node, finish, actor).await {
                Ok(_) => return self.handle.text_stored(),
                Err(StoreError::Unavailable(_) | StoreError::DiskFull) if may_wait() => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => {
                    tracing::error!(%error, turn = %self.id(), "failed to write the end of a turn");
                    return;
                }
            }
        }
    }

    /// Returns the usage of the request that was being answered when the turn was stopped, and adds it to the turn's.
    fn unanswered_round(&self) -> Option<TurnItem> {
        let asked = self.handle.take_asked()?;
        let text = self.handle.pending_text().unwrap_or_default();
        let usage = asked.usage(self.agent.counter.count(Encoding::Cl100k, &text) as u64);
        self.handle.spend(usage);
        Some(TurnItem::Round(RoundOutcome { round: asked.round, usage, cache_marks: Vec::new(), cut: true }))
    }

    /// Returns the text that the model was producing when it was stopped.
    async fn pending_text(&self, pending: &[TurnItem]) -> Option<TurnItem> {
        let text = self.handle.pending_text()?;
        // The same text may have been stored just before the stop, or be among the items that are written with the
        // end.
        let last = match pending.last() {
            Some(item) => Some(item.clone()),
            None => {
                let stored = self.agent.store.turn_items(self.workspace_id(), self.id()).await.ok();
                stored.and_then(|mut items| Some(items.pop()?.item))
            }
        };
        if let Some(TurnItem::Message(last)) = last
            && last.message.text() == text
        {
            return None;
        }
        Some(TurnItem::Message(TurnMessage::new(Message::assistant(vec![Block::text(text)]))))
    }
}
