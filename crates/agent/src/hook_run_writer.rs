//! Keeps a record of every hook that ran, without making anybody wait for the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hooks::{Contributed, HookRun, Recorder};
use protocol::TurnId;
use store::{NewJob, Store, StoreError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::background_jobs::new_job;

/// HookRunWriter that are written in one transaction.
const BATCH: usize = 256;
/// HookRunWriter that wait to be written: more than turns leave in the time that a database is usually away.
const MAX_WAITING: usize = 16_384;
/// How long to wait before records are written again to a database that was away.
const WRITE_AGAIN: Duration = Duration::from_secs(1);
/// How long that is tried before the records are given up: others wait behind them.
const WRITE_FOR: Duration = Duration::from_secs(60);

/// Hands records to a task that writes them; those of a held turn go with what the turn writes next.
pub(crate) struct HookRunWriter {
    sender: Sender<Entry>,
    /// HookRunWriter that found no place among those that wait.
    lost: AtomicU64,
    /// Cancelled when somebody waits for the end: a database that is away is not waited for then.
    hurry: CancellationToken,
    held: Mutex<HashMap<TurnId, Vec<HookRun>>>,
}

enum Entry {
    Run(Box<HookRun>),
    Job(Box<NewJob>),
    /// Whoever sends it wants to know when everything before it is written.
    Written(oneshot::Sender<()>),
}

impl HookRunWriter {
    /// Starts the task; it ends when nobody can send any more.
    pub(crate) fn start(store: Store) -> Self {
        let (records, receiver) = Self::with_room(MAX_WAITING);
        tokio::spawn(write(store, receiver, records.hurry.clone()));
        records
    }

    fn with_room(room: usize) -> (Self, Receiver<Entry>) {
        let (sender, receiver) = channel(room);
        let (lost, hurry) = (AtomicU64::new(0), CancellationToken::new());
        (Self { sender, lost, hurry, held: Mutex::default() }, receiver)
    }

    /// Keeps the runs of a turn until they are taken or released.
    pub(crate) fn hold(&self, turn_id: &TurnId) {
        self.lock().insert(turn_id.clone(), Vec::new());
    }

    /// The runs of a held turn so far.
    pub(crate) fn take(&self, turn_id: &TurnId) -> Vec<HookRun> {
        self.lock().get_mut(turn_id).map(std::mem::take).unwrap_or_default()
    }

    /// Takes runs back that could not be written.
    pub(crate) fn put_back(&self, turn_id: &TurnId, runs: Vec<HookRun>) {
        match self.lock().get_mut(turn_id) {
            Some(held) => drop(held.splice(..0, runs)),
            None => runs.into_iter().for_each(|run| self.send(run)),
        }
    }

    /// Lets the task write what was not taken, and what is still to come.
    pub(crate) fn release(&self, turn_id: &TurnId) {
        let left = self.lock().remove(turn_id);
        left.into_iter().flatten().for_each(|run| self.send(run));
    }

    fn send(&self, run: HookRun) {
        // Nobody waits for a record: whoever runs a hook has better things to do.
        if let Err(TrySendError::Full(Entry::Run(run))) = self.sender.try_send(Entry::Run(Box::new(run))) {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            // The first one and every power of two: a flood of losses is no flood of lines.
            if lost.is_power_of_two() {
                tracing::error!(
                    lost,
                    hook = run.hook_id,
                    "records of hooks are lost: too many wait to be written"
                );
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Vec<HookRun>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything so far is written, or given up. To be called at the end.
    pub(crate) async fn written(&self) {
        self.hurry.cancel();
        let (sender, receiver) = oneshot::channel();
        if self.sender.send(Entry::Written(sender)).await.is_ok() {
            let _ = receiver.await;
        }
    }
}

impl Recorder for HookRunWriter {
    fn record(&self, run: HookRun) {
        if let Some(turn_id) = &run.turn_id
            && let Some(runs) = self.lock().get_mut(turn_id)
        {
            return runs.push(run);
        }
        self.send(run);
    }

    fn deliver(&self, run: &HookRun, contributed: Vec<Contributed>) {
        let (Some(workspace_id), Some(turn_id)) = (&run.workspace_id, &run.turn_id) else {
            return tracing::debug!(hook = run.hook_id, "jobs without a turn are not kept");
        };
        for job in contributed.iter().filter_map(|it| new_job(workspace_id, turn_id, it)) {
            if let Err(TrySendError::Full(_)) = self.sender.try_send(Entry::Job(Box::new(job))) {
                tracing::error!(hook = run.hook_id, "a job is lost: too many records wait to be written");
            }
        }
    }
}

async fn write(store: Store, mut receiver: Receiver<Entry>, hurry: CancellationToken) {
    let mut entries = Vec::new();
    while receiver.recv_many(&mut entries, BATCH).await > 0 {
        let mut runs = Vec::new();
        let (mut jobs, mut waiting) = (Vec::new(), Vec::new());
        for entry in entries.drain(..) {
            match entry {
                Entry::Run(run) => runs.push(*run),
                Entry::Job(job) => jobs.push(*job),
                Entry::Written(sender) => waiting.push(sender),
            }
        }
        let deadline = Instant::now() + WRITE_FOR;
        let written = loop {
            match store.record_hook_runs(&runs).await {
                Err(StoreError::Unavailable(_) | StoreError::DiskFull)
                    if !hurry.is_cancelled() && Instant::now() < deadline =>
                {
                    let _ = tokio::time::timeout(WRITE_AGAIN, hurry.cancelled()).await;
                }
                written => break written,
            }
        };
        if written.is_err() {
            // One that cannot be written, such as that of a thread that is no more, must not cost the others.
            for run in runs {
                if let Err(error) = store.record_hook_runs(std::slice::from_ref(&run)).await {
                    tracing::error!(%error, hook = run.hook_id, "the record of a hook could not be written");
                }
            }
        }
        for job in jobs {
            let turn = job.turn_id.clone();
            if let Err(error) = store.add_job(job).await {
                tracing::error!(%error, %turn, "a job could not be kept");
            }
        }
        for sender in waiting {
            let _ = sender.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;
    use protocol::hook::{Execution, FailurePolicy, Phase, RunStatus, Visibility};

    use super::*;

    fn run() -> HookRun {
        HookRun {
            workspace_id: None,
            thread_id: None,
            turn_id: None,
            package_id: "test".to_owned(),
            hook_id: "hook".to_owned(),
            subscription_id: "subscription".to_owned(),
            phase: Phase::PostTurn,
            execution: Execution::Blocking,
            failure: FailurePolicy::BestEffort,
            visibility: Visibility::Internal,
            started_at: Timestamp::now(),
            duration_us: 0,
            status: RunStatus::Completed,
            contributions: Default::default(),
            refused: 0,
            bytes: 0,
            error_preview: None,
        }
    }

    /// A database that is away must not fill the memory.
    #[tokio::test]
    async fn records_that_nobody_writes_are_bounded_and_counted() {
        let (records, mut receiver) = HookRunWriter::with_room(3);
        for _ in 0..10 {
            records.record(run());
        }
        assert_eq!((receiver.len(), records.lost.load(Ordering::Relaxed)), (3, 7));
        receiver.recv().await.unwrap();
        records.record(run());
        assert_eq!((receiver.len(), records.lost.load(Ordering::Relaxed)), (3, 7), "there is room again");
    }
}
