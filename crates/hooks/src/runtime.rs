//! Runs the hooks of a phase.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use protocol::hook::{Execution, Phase};
use tokio::task::JoinError;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::{Admitted, admit};
use crate::background::{Background, Drained};
use crate::error::RunFailure;
use crate::merge::{Merge, settle};
use crate::preview::preview;
use crate::record::OpenRun;
use crate::registry::{Plan, RegisteredHook};
use crate::{
    FailureCause, HookContext, HookError, HookRegistry, HookResult, PhaseOutcome, Recorder, Retries,
    TurnContext,
};

/// Concurrency limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimits {
    /// Hooks of one batch that run concurrently; the rest of the batch starts as these end.
    pub concurrent: usize,
    /// Background hooks that run concurrently, over all phases and turns.
    pub background_running: usize,
    /// Background hooks that may wait for a free slot; any more are rejected.
    pub background_queued: usize,
}

impl Default for HookLimits {
    fn default() -> Self {
        Self { concurrent: 16, background_running: 4, background_queued: 64 }
    }
}

/// Runs the hooks of a registry, including background hooks until shutdown.
///
/// Needs a tokio runtime; a multi-threaded one if hooks may block their thread.
pub struct HookRuntime {
    registry: HookRegistry,
    recorder: Arc<dyn Recorder>,
    limits: HookLimits,
    background: Background,
}

impl HookRuntime {
    /// Creates a runtime for the hooks of a registry.
    pub fn new(registry: HookRegistry, recorder: Arc<dyn Recorder>, limits: HookLimits) -> Self {
        let background = Background::new(limits.background_running, limits.background_queued);
        Self { registry, recorder, limits, background }
    }

    /// Returns the registry.
    pub fn registry(&self) -> &HookRegistry {
        &self.registry
    }

    /// Runs the hooks of a phase and merges their contributions.
    ///
    /// Fails only if a fail-closed hook fails; the others are then aborted. If several such hooks fail at the same
    /// time, the error names the first in order. Dropping the future aborts the hooks it waits for, but not those
    /// already started in the background.
    pub async fn run_phase(&self, phase: Phase, turn: Arc<TurnContext>) -> Result<PhaseOutcome, HookError> {
        let plan = self.registry.plan(phase);
        if plan.entries.is_empty() {
            return Ok(PhaseOutcome::default());
        }
        let mut runs: Vec<Option<OpenRun>> = plan
            .entries
            .iter()
            .map(|entry| Some(OpenRun::new(self.recorder.clone(), entry, &turn)))
            .collect();
        // Results are stored by position and merged after the last batch. Hooks finish in any order, but the merge
        // must follow the order of the plan.
        let mut taken: Vec<Admitted> = plan.entries.iter().map(|_| Admitted::default()).collect();
        for batch in &plan.batches {
            self.run_batch(plan, batch, &turn, &mut runs, &mut taken).await?;
        }
        let mut merge = Merge::default();
        for ((entry, admitted), run) in plan.entries.iter().zip(taken).zip(&mut runs) {
            merge.add(entry, admitted, run.as_mut())?;
        }
        Ok(merge.finish())
    }

    /// Stops accepting background hooks, waits for them, and aborts those that exceed the grace period.
    pub async fn shutdown(&self, grace: Duration) -> Drained {
        self.background.drain(grace).await
    }

    async fn run_batch(
        &self,
        plan: &Plan,
        batch: &[usize],
        turn: &Arc<TurnContext>,
        runs: &mut [Option<OpenRun>],
        taken: &mut [Admitted],
    ) -> Result<(), HookError> {
        let mut running = FuturesUnordered::new();
        let mut waiting = batch.iter().copied();
        let mut first: Option<(usize, HookError)> = None;
        loop {
            // Start new hooks only while none has failed: after a failure the phase has no result, so further work
            // would be wasted.
            while running.len() < self.limits.concurrent.max(1)
                && first.is_none()
                && let Some(position) = waiting.next()
            {
                let entry = &plan.entries[position];
                if entry.subscription.execution == Execution::Background {
                    taken[position] = self.send_to_background(plan, position, turn, &mut runs[position]);
                    continue;
                }
                if let Some(run) = &mut runs[position] {
                    run.start();
                }
                let ended = start(entry, turn, CancellationToken::new());
                running.push(async move { (position, ended.await) });
            }
            // After a failure, collect only the runs that have already ended. Several hooks may fail in the same
            // instant, and the error must name the first in order rather than the fastest. Dropping `running` aborts
            // the rest.
            let next = match &first {
                None => running.next().await,
                Some(_) => running.next().now_or_never().flatten(),
            };
            let Some((position, ended)) = next else { break };
            let settled = settle(&plan.entries[position], ended);
            if let Some(run) = &mut runs[position] {
                run.end(settled.status, settled.error_preview, &settled.admitted);
            }
            taken[position] = settled.admitted;
            if let Some(error) = settled.closed
                && first.as_ref().is_none_or(|(earlier, _)| position < *earlier)
            {
                first = Some((position, error));
            }
        }
        first.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Starts a background hook. If the queue is full, its failure policy applies.
    fn send_to_background(
        &self,
        plan: &Plan,
        position: usize,
        turn: &Arc<TurnContext>,
        run: &mut Option<OpenRun>,
    ) -> Admitted {
        let entry = &plan.entries[position];
        let Some(open) = run.take() else { return Admitted::default() };
        let Err(rejected) = self.background.submit(entry, turn, open) else { return Admitted::default() };
        let fault = RunFailure { cause: FailureCause::Rejected, preview: rejected.reason.to_owned() };
        let diagnostics = crate::background::finish(entry, Err(fault), rejected.run);
        Admitted { diagnostics, ..Admitted::default() }
    }
}

/// The end of a run.
pub(crate) type Ended = Result<Admitted, RunFailure>;

/// Starts a hook immediately. The result arrives at its timeout at the latest; dropping the future aborts the hook.
///
/// The timeout is watched here rather than in the hook's task, which may be stuck.
pub(crate) fn start(
    entry: &Arc<RegisteredHook>,
    turn: &Arc<TurnContext>,
    cancellation: CancellationToken,
) -> impl Future<Output = Ended> + Send + 'static {
    // One deadline covers all attempts, so retries cannot extend the time that a phase takes.
    let deadline = Instant::now() + entry.timeout;
    let context = HookContext {
        turn: turn.clone(),
        phase: entry.subscription.phase,
        deadline,
        cancellation: cancellation.clone(),
    };
    let task = AbortOnDropHandle::new(tokio::spawn(run(entry.clone(), context)));
    // Aborting the task does not stop work that it moved to another thread; the token does. It is disarmed only after
    // a result that arrived in time.
    let guard = cancellation.drop_guard();
    let timeout = entry.timeout;
    async move {
        let late =
            || RunFailure { cause: FailureCause::Timeout, preview: format!("timed out after {timeout:?}") };
        let (ended, at) = match timeout_at(deadline, task).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => return Err(broken(error)),
            Err(_) => return Err(late()),
        };
        // A busy thread can deliver a result after the deadline without the timeout firing; it is late all the same.
        if at > deadline {
            return Err(late());
        }
        guard.disarm();
        ended
    }
}

async fn run(entry: Arc<RegisteredHook>, context: HookContext) -> (Ended, Instant) {
    let result = try_often_enough(&entry, context).await;
    let ended = match result {
        Ok(contributions) => admit(&entry.subscription, contributions),
        Err(failure) => Err(RunFailure { cause: FailureCause::Error, preview: preview(failure.message()) }),
    };
    (ended, Instant::now())
}

/// Runs a hook until it succeeds, uses up its attempts, or would miss its deadline after the pause.
async fn try_often_enough(entry: &RegisteredHook, context: HookContext) -> HookResult {
    let Retries { max_attempts, mut back_off } = entry.subscription.retries;
    let mut attempt = 1;
    loop {
        let result = entry.subscription.hook.clone().start(context.clone()).await;
        // Do not sleep into the deadline: the hook would then be reported as timed out and its own error would be
        // lost.
        if result.is_ok() || attempt >= max_attempts || Instant::now() + back_off >= context.deadline {
            return result;
        }
        tokio::time::sleep(back_off).await;
        back_off = back_off.saturating_mul(2);
        attempt += 1;
    }
}

/// Describes a task that did not return.
fn broken(error: JoinError) -> RunFailure {
    match error.try_into_panic() {
        Ok(payload) => RunFailure {
            cause: FailureCause::Panic,
            preview: preview(&format!("panicked: {}", message(&*payload))),
        },
        Err(_) => RunFailure {
            cause: FailureCause::Error,
            preview: "the tokio runtime is shutting down".to_owned(),
        },
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}
