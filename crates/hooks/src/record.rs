//! One record for every run, however it ended.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::Timestamp;
use protocol::hook::{ContributionKind, HookRun, RunStatus};
use tokio::time::Instant;

use crate::admission::Admitted;
use crate::registry::RegisteredHook;
use crate::{Contributed, TurnContext};

/// Where records go, and what hooks in the background contribute.
///
/// It is called from within phases and must not block: one that writes to a database puts what it gets into a queue.
pub trait Recorder: Send + Sync + 'static {
    /// Takes the record of a run that has ended. The records of a phase come in the order of its hooks.
    fn record(&self, run: HookRun);

    /// Takes what a background hook contributed, before its record.
    fn deliver(&self, run: &HookRun, contributions: Vec<Contributed>);
}

/// A recorder that keeps everything, for tests and trials.
#[derive(Debug, Default)]
pub struct MemoryRecorder {
    runs: Mutex<Vec<HookRun>>,
    delivered: Mutex<Vec<Contributed>>,
}

impl MemoryRecorder {
    /// The records so far.
    pub fn runs(&self) -> Vec<HookRun> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What background hooks contributed so far.
    pub fn delivered(&self) -> Vec<Contributed> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recorder for MemoryRecorder {
    fn record(&self, run: HookRun) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }

    fn deliver(&self, _: &HookRun, contributions: Vec<Contributed>) {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).extend(contributions);
    }
}

/// A run whose record is written when it is dropped: no way out of a phase can forget it.
pub(crate) struct OpenRun {
    recorder: Arc<dyn Recorder>,
    run: Option<HookRun>,
    started: Option<Instant>,
}

impl OpenRun {
    pub(crate) fn new(recorder: Arc<dyn Recorder>, entry: &RegisteredHook, turn: &TurnContext) -> Self {
        let subscription = &entry.subscription;
        let run = HookRun {
            workspace_id: Some(turn.workspace_id.clone()),
            thread_id: Some(turn.thread_id.clone()),
            turn_id: turn.turn_id.clone(),
            package_id: entry.package_id.clone(),
            hook_id: subscription.hook_id.clone(),
            subscription_id: subscription.id.clone(),
            phase: subscription.phase,
            execution: subscription.execution,
            failure: subscription.failure,
            visibility: subscription.visibility,
            started_at: Timestamp::now(),
            duration_us: 0,
            status: RunStatus::Cancelled,
            contributions: BTreeMap::new(),
            refused: 0,
            bytes: 0,
            error_preview: Some("cancelled before it started".to_owned()),
        };
        Self { recorder, run: Some(run), started: None }
    }

    /// Says that the hook runs from now on.
    pub(crate) fn start(&mut self) {
        self.started = Some(Instant::now());
        if let Some(run) = &mut self.run {
            run.started_at = Timestamp::now();
            run.error_preview = Some("cancelled while it ran".to_owned());
        }
    }

    /// Records how the run ended.
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

    /// Says that a contribution was refused after all.
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

    /// Says that a run that had ended well has failed after all.
    pub(crate) fn fail(&mut self, error_preview: String) {
        if let Some(run) = &mut self.run {
            run.status = RunStatus::Failed;
            run.error_preview = Some(error_preview);
        }
    }

    /// Hands over what a background hook contributed.
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

/// Keeps a recorder's panic from ending a turn.
fn guarded(call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::error!("the recorder of hooks panicked");
    }
}
