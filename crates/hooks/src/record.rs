//! One record for every run, whatever became of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::admission::Admitted;
use crate::registry::Entry;
use crate::{Contributed, ContributionKind, Execution, Failure, Phase, PhaseContext, Visibility};

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It returned in time.
    Completed,
    /// It returned an error, or too much.
    Failed,
    /// It was given up at its timeout.
    TimedOut,
    /// It panicked.
    Panicked,
    /// Its phase was dropped or ended by another hook, or the runtime was shut down.
    Cancelled,
    /// There was no room for it in the background.
    Rejected,
    /// It failed and may be left out.
    Skipped,
    /// It failed and its fallback stood in.
    FellBack,
}

/// The record of one run; never what was contributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    /// The workspace, if the phase belonged to one.
    pub workspace_id: Option<String>,
    /// The thread, if the phase belonged to one.
    pub thread_id: Option<String>,
    /// The turn, if the phase belonged to one.
    pub turn_id: Option<String>,
    /// The hook's package.
    pub package_id: String,
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// The phase.
    pub phase: Phase,
    /// How it was waited for.
    pub execution: Execution,
    /// What a failure meant.
    pub failure: Failure,
    /// Who may be shown it.
    pub visibility: Visibility,
    /// When it started, or when its phase did if it never started; milliseconds since 1970.
    pub started_at_ms: u64,
    /// How long it took, in microseconds; 0 if it never started.
    pub duration_us: u64,
    /// What became of it.
    pub status: RunStatus,
    /// How many contributions of each kind were taken, fallbacks included.
    pub contributions: BTreeMap<ContributionKind, u32>,
    /// How many contributions were refused.
    pub refused: u32,
    /// The bytes of what it returned.
    pub bytes: u64,
    /// Why it did not complete, in one line without secrets.
    pub error_preview: Option<String>,
}

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
    pub(crate) fn new(recorder: Arc<dyn Recorder>, entry: &Entry, told: &PhaseContext) -> Self {
        let subscription = &entry.subscription;
        let run = HookRun {
            workspace_id: told.workspace_id.clone(),
            thread_id: told.thread_id.clone(),
            turn_id: told.turn_id.clone(),
            package_id: entry.package_id.clone(),
            hook_id: subscription.hook_id.clone(),
            subscription_id: subscription.id.clone(),
            phase: subscription.phase,
            execution: subscription.execution,
            failure: subscription.failure,
            visibility: subscription.visibility,
            started_at_ms: now(),
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
            run.started_at_ms = now();
            run.error_preview = Some("cancelled while it ran".to_owned());
        }
    }

    /// Says what became of the run.
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

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
