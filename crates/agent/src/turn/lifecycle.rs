//! Runs a turn from start to end while renewing its lease.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use hooks::{Phase, TurnContext};
use protocol::{Hint as _, TurnError, TurnScope, TurnStatus};
use store::StoreError;

use crate::error::AgentError;
use crate::prompt::prepare::PromptRequest;
use crate::subject::PromptSubject;
use crate::turn::finish::{ThreadAfter, TurnOutcome};
use crate::turn::handles::TurnPermit;
use crate::turn::lease::RENEWAL;
use crate::turn::rounds::Rounds;
use crate::turn::running::RunningTurn;

/// Interval for checking if another gateway was asked to stop the turn.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Reason that a turn stops without an answer.
enum Interruption {
    Cancelled,
    Shutdown,
    LeaseLost,
}

impl RunningTurn {
    /// Runs the turn to its end. A queued turn is loaded again first.
    pub(crate) async fn run(mut self, queued: Option<PromptRequest>, slot: Option<TurnPermit>) {
        let outcome = match self.unless_stopped(self.reload_if_queued(queued)).await {
            Ok(loaded) => {
                if let Some(subject) = loaded {
                    self.subject = subject;
                }
                let answered = self.unless_stopped(self.answer()).await;
                answered.map_or_else(|outcome| outcome, TurnOutcome::Completed)
            }
            Err(outcome) => outcome,
        };
        if let TurnOutcome::Failed(error) = &outcome {
            tracing::warn!(turn = %self.id(), "turn failed: {error}");
        }
        // Children end first: their cost is part of this turn, and they must not change files after its end.
        self.settle_children().await;
        // Clients may start the next turn as soon as they see the end, and must find the slot free.
        drop(slot);
        self.finish(&outcome).await;
        // No further commit of this turn will carry the records, so hand them to the writer.
        self.agent.records.release(self.id());
        let after = TurnContext { status: Some(outcome.status()), ..self.hook_context() };
        match self.agent.runtime.run_phase(Phase::PostTurn, Arc::new(after)).await {
            Ok(ran) => self.agent.store_jobs(self.workspace_id(), self.id(), &ran.contributions).await,
            Err(error) => tracing::warn!(%error, turn = %self.id(), "post-turn hook failed"),
        }
    }

    /// Runs a part of the turn while keeping the lease; returns the outcome if it fails, panics or must stop.
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, AgentError>>,
    ) -> Result<T, TurnOutcome> {
        tokio::select! {
            // Without this, a panic would leave the turn running in the store until its lease expires.
            done = AssertUnwindSafe(work).catch_unwind() => match done {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(AgentError::Cancelled)) => Err(TurnOutcome::Cancelled),
                Ok(Err(error)) => Err(TurnOutcome::Failed(error)),
                Err(_) => Err(TurnOutcome::Failed(AgentError::Panicked)),
            },
            stopped = self.stopped() => Err(match stopped {
                Interruption::Cancelled => TurnOutcome::Cancelled,
                Interruption::Shutdown => TurnOutcome::Failed(AgentError::ShutDown),
                Interruption::LeaseLost => TurnOutcome::Failed(AgentError::LeaseLost),
            }),
        }
    }

    /// Loads the subject again if the turn was queued.
    async fn reload_if_queued(
        &self,
        queued: Option<PromptRequest>,
    ) -> Result<Option<PromptSubject>, AgentError> {
        let Some(request) = queued else { return Ok(None) };
        let scope = TurnScope { turn_id: Some(self.stored.id.clone()), ..request.scope };
        let request = PromptRequest { scope, ..request };
        Ok(Some(self.agent.load(&request).await?))
    }

    /// Plans the turn and runs its rounds.
    async fn answer(&self) -> Result<ThreadAfter, AgentError> {
        let plan = self.plan().await?;
        let mut after = Rounds::new(self, plan).run().await?.thread_after();
        if let Some((session, _)) = after.session.as_deref_mut() {
            session.touch(self.touched());
        }
        Ok(after)
    }

    /// Renews the lease; returns only when the turn must stop.
    async fn stopped(&self) -> Interruption {
        tokio::select! {
            () = self.handle.stop.cancelled() => Interruption::Cancelled,
            () = self.agent.running.shutdown.cancelled() => Interruption::Shutdown,
            stopped = self.renew_until_stopped() => stopped,
        }
    }

    async fn renew_until_stopped(&self) -> Interruption {
        let agent = &self.agent;
        let workspace_id = self.workspace_id();
        let turn_id = self.id();
        let mut renewed = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            // Look more often than the lease is renewed: a stop requested at another gateway only shows up in the
            // store, and a user is waiting for it.
            match agent.store.turn_hold(workspace_id, turn_id).await {
                Ok(hold) if hold.status != TurnStatus::Running => return Interruption::LeaseLost,
                Ok(hold) if hold.stop_requested_at.is_some() => return Interruption::Cancelled,
                _ => {}
            }
            if renewed.elapsed() < RENEWAL {
                continue;
            }
            renewed = tokio::time::Instant::now();
            match self.lease.renew().await {
                Err(StoreError::TurnEnded { .. } | StoreError::NotHolder { .. }) => {
                    return Interruption::LeaseLost;
                }
                Err(error) => tracing::warn!(%error, turn = %turn_id, "failed to renew the turn's lease"),
                Ok(()) => {}
            }
        }
    }

    /// Runs the hooks for the phase before earlier turns are summarised.
    pub(crate) async fn before_compaction(&self) -> Result<(), AgentError> {
        let mut context = Arc::new(self.hook_context());
        let outcome = self.agent.runtime.run_phase(Phase::PreCompaction, Arc::clone(&context)).await?;
        if !outcome.contributions.is_empty() {
            Arc::make_mut(&mut context).earlier.extend(outcome.contributions);
            self.set_hook_context(Arc::unwrap_or_clone(context));
        }
        Ok(())
    }
}

/// Converts an error into its stored form.
pub(crate) fn turn_error(error: &AgentError) -> TurnError {
    let (provider, status) = match error {
        AgentError::Provider(error) => (Some(error.provider.clone()), error.status),
        _ => (None, None),
    };
    TurnError {
        kind: error.kind(),
        message: error.to_string(),
        hint: error.hint().map(Cow::into_owned),
        provider,
        status,
        retryable: error.is_retryable(),
    }
}
