//! Records: exactly one for every run, however it ends.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use protocol::Timestamp;
use protocol::hook::{ContributionKind, HookRun, RunStatus};
use tokio::time::Instant;

use crate::admission::Admitted;
use crate::registry::RegisteredHook;
use crate::{Contributed, TurnContext};

/// Receiver of records and of the contributions of background hooks.
///
/// It is called from within phases and must not block: an implementation that writes to a database should queue.
pub trait Recorder: Send + Sync + 'static {
    /// Takes the record of a finished run. The records of a phase arrive in hook order.
    fn record(&self, run: HookRun);

    /// Takes the contributions of a background hook, before its record.
    fn deliver(&self, run: &HookRun, contributions: Vec<Contributed>);
}

/// A recorder that keeps everything in memory, for tests and experiments.
#[derive(Debug, Default)]
pub struct MemoryRecorder {
    runs: Mutex<Vec<HookRun>>,
    delivered: Mutex<Vec<Contributed>>,
}

impl MemoryRecorder {
    /// Returns the records so far.
    pub fn runs(&self) -> Vec<HookRun> {
        self.runs.lock().clone()
    }

    /// Returns the contributions of background hooks so far.
    pub fn delivered(&self) -> Vec<Contributed> {
        self.delivered.lock().clone()
    }
}

impl Recorder for MemoryRecorder {
    fn record(&self, run: HookRun) {
        self.runs.lock().push(run);
    }

    fn deliver(&self, _: &HookRun, contributions: Vec<Contributed>) {
        self.delivered.lock().extend(contributions);
    }
}

/// A run whose record is written when it is dropped, so that no exit path of a phase can skip it.
pub(crate) struct OpenRun {
    recorder: Arc<dyn Recorder>,
    run: Option<HookRun>,
    started: Option<Instant>,
}

impl OpenRun {
    pub(crate) fn new(recorder: Arc<dyn Recorder>, entry: &RegisteredHook, turn: &TurnContext) -> Self {
        let subscription = &entry.subscription;
        let run = HookRun {
            workspace_id: Some(turn.scope.workspace_id.clone()),
            thread_id: Some(turn.scope.thread_id.clone()),
            turn_id: turn.scope.turn_id.clone(),
            package_id: entry.package_id.clone(),
            hook_id: subscription.hook_id.clone(),
            subscription_id: subscription.id.clone(),
            phase: subscription.phase,
            execution: subscription.execution,
            failure: subscription.failure,
            visibility: subscription.visibility,
            started_at: Timestamp::now(),
            duration_us: 0,
            // Only `end` replaces this status. A run dropped before that, because its phase failed or its turn
            // stopped, is recorded as cancelled.
            status: RunStatus::Cancelled,
            contributions: BTreeMap::new(),
            refused: 0,
            bytes: 0,
            error_preview: Some("cancelled before it started".to_owned()),
        };
        Self { recorder, run: Some(run), started: None }
    }

    /// Starts the clock of the run.
    pub(crate) fn start(&mut self) {
        self.started = Some(Instant::now());
        if let Some(run) = &mut self.run {
            run.started_at = Timestamp::now();
            run.error_preview = Some("cancelled while it ran".to_owned());
        }
    }

    /// Sets the status that is recorded.
    pub(crate) fn end(&mut self, status: RunStatus, error_preview: Option<String>, admitted: &Admitted) {
        let duration_us = self.elapsed();
        self.started = None;
        if let Some(run) = &mut self.run {
            run.duration_us = duration_us;
            run.status = status;
            run.error_preview = error_preview;
            run.refused = admitted.refused;
            run.bytes = admitted.bytes as u64;
            for (contribution, _) in &admitted.accepted {
                *run.contributions.entry(contribution.kind()).or_default() += 1;
            }
        }
    }

    /// Counts a contribution that was refused during the merge.
    pub(crate) fn refuse(&mut self, kind: ContributionKind) {
        if let Some(run) = &mut self.run {
            run.refused += 1;
            if let Some(count) = run.contributions.get_mut(&kind) {
                *count -= 1;
                if *count == 0 {
                    run.contributions.remove(&kind);
                }
            }
        }
    }

    /// Turns a successful run into a failed one during the merge.
    pub(crate) fn fail(&mut self, error_preview: String) {
        if let Some(run) = &mut self.run {
            run.status = RunStatus::Failed;
            run.error_preview = Some(error_preview);
        }
    }

    /// Hands over the contributions of a background hook.
    pub(crate) fn deliver(&self, contributions: Vec<Contributed>) {
        if let Some(run) = &self.run {
            guarded(|| self.recorder.deliver(run, contributions));
        }
    }

    fn elapsed(&self) -> u64 {
        self.started.map_or(0, |started| u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let elapsed = self.elapsed();
        if let Some(mut run) = self.run.take() {
            if run.duration_us == 0 {
                run.duration_us = elapsed;
            }
            guarded(|| self.recorder.record(run));
        }
    }
}

/// Keeps a panic of the recorder from ending a turn.
fn guarded(call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::error!("hook recorder panicked");
    }
}
