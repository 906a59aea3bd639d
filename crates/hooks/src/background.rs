//! Background hooks: bounded, recorded, and drained at shutdown.

use std::sync::Arc;
use std::time::Duration;

use protocol::prompt::PromptDiagnostic;
use tokio::sync::{Semaphore, TryAcquireError};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::merge::settle;
use crate::record::OpenRun;
use crate::registry::RegisteredHook;
use crate::runtime::{Ended, start};
use crate::{Contributed, TurnContext};

/// Counts of the background hooks at shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Hooks that finished within the grace period.
    pub finished: usize,
    /// Hooks that were aborted.
    pub aborted: usize,
}

pub(crate) struct Background {
    /// One permit per running or waiting hook; closed at shutdown.
    room: Arc<Semaphore>,
    /// One permit per running hook.
    running: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A run that was rejected, with the reason.
pub(crate) struct Rejected {
    pub(crate) run: OpenRun,
    pub(crate) reason: &'static str,
}

impl Background {
    pub(crate) fn new(running: usize, queued: usize) -> Self {
        let running = running.clamp(1, Semaphore::MAX_PERMITS);
        let room = running.saturating_add(queued).min(Semaphore::MAX_PERMITS);
        Self {
            room: Arc::new(Semaphore::new(room)),
            running: Arc::new(Semaphore::new(running)),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Queues a hook, or rejects it if the queue is full.
    pub(crate) fn submit(
        &self,
        entry: &Arc<RegisteredHook>,
        turn: &Arc<TurnContext>,
        run: OpenRun,
    ) -> Result<(), Box<Rejected>> {
        // Take the token before the permit. A hook that gets a permit just before shutdown closes the semaphore is
        // then already counted by the tracker, so the shutdown waits for it.
        let token = self.tasks.token();
        let place = match self.room.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits) => {
                return Err(Box::new(Rejected { run, reason: "the queue of background hooks is full" }));
            }
            Err(TryAcquireError::Closed) => {
                return Err(Box::new(Rejected { run, reason: "the hooks are shutting down" }));
            }
        };
        let entry = entry.clone();
        let turn = turn.clone();
        let running = self.running.clone();
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let _held = (token, place);
            // Every early return drops the run, which then records a cancellation. The run is bound after the token,
            // so it is dropped first and the record is written before shutdown stops waiting.
            let mut run = run;
            let _permit = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                permit = running.acquire() => permit,
            };
            run.start();
            let ended = tokio::select! {
                biased;
                ended = start(&entry, &turn, stop.child_token()) => ended,
                () = stop.cancelled() => return,
            };
            finish(&entry, ended, run);
        });
        Ok(())
    }

    /// Waits for running and queued hooks, then aborts the rest.
    pub(crate) async fn drain(&self, grace: Duration) -> Drained {
        self.room.close();
        self.tasks.close();
        let pending = self.tasks.len();
        // Count before and after: the tracker only knows how many tasks are left, and the report needs both numbers.
        let in_time = timeout(grace, self.tasks.wait()).await.is_ok();
        let aborted = if in_time { 0 } else { self.tasks.len() };
        self.stop.cancel();
        // Supervisors return as soon as they are stopped, without waiting for their hook, so this is immediate.
        self.tasks.wait().await;
        Drained { finished: pending.saturating_sub(aborted), aborted }
    }
}

/// Hands the contributions of a background hook to the recorder and closes its run; returns the diagnostics.
pub(crate) fn finish(entry: &RegisteredHook, ended: Ended, mut run: OpenRun) -> Vec<PromptDiagnostic> {
    let settled = settle(entry, ended);
    run.end(settled.status, settled.error_preview, &settled.admitted);
    let contributions: Vec<_> = settled
        .admitted
        .accepted
        .into_iter()
        .map(|(contribution, truncation)| Contributed::new(entry, contribution, truncation))
        .collect();
    if !contributions.is_empty() {
        run.deliver(contributions);
    }
    settled.admitted.diagnostics
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
