//! Writes the records of hook runs in the background, so that no turn waits for the database.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hooks::{Contributed, HookRun, Recorder};
use parking_lot::{Mutex, MutexGuard};
use protocol::TurnId;
use store::{NewJob, Store, StoreError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::background_jobs::new_job;

/// Records per transaction.
const BATCH: usize = 256;
/// Maximum number of queued records: more than turns produce during a typical database outage.
const MAX_WAITING: usize = 16_384;
/// Pause before writing again to an unavailable database.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Time after which a batch is given up, because other records queue up behind it.
const RETRY_LIMIT: Duration = Duration::from_secs(60);

/// Queues records for a writer task. The records of a held turn are written with the turn's next commit instead.
pub(crate) struct HookRunWriter {
    sender: Sender<WriterMessage>,
    /// Number of records dropped because the queue was full.
    lost: AtomicU64,
    /// Cancelled at shutdown, to stop waiting for an unavailable database.
    shutting_down: CancellationToken,
    held: Mutex<HashMap<TurnId, Vec<HookRun>>>,
}

enum WriterMessage {
    Run(Box<HookRun>),
    Job(Box<NewJob>),
    /// Sent by `written`, to learn that everything before it is stored.
    Written(oneshot::Sender<()>),
}

impl HookRunWriter {
    /// Starts the writer task; it ends when all senders are dropped.
    pub(crate) fn start(store: Store) -> Self {
        let (records, receiver) = Self::with_room(MAX_WAITING);
        tokio::spawn(write(store, receiver, records.shutting_down.clone()));
        records
    }

    fn with_room(room: usize) -> (Self, Receiver<WriterMessage>) {
        let (sender, receiver) = channel(room);
        let lost = AtomicU64::new(0);
        let shutting_down = CancellationToken::new();
        (Self { sender, lost, shutting_down, held: Mutex::default() }, receiver)
    }

    /// Holds back the records of a turn until they are taken or released.
    pub(crate) fn hold(&self, turn_id: &TurnId) {
        self.lock().insert(turn_id.clone(), Vec::new());
    }

    /// Takes the records of a held turn so far.
    pub(crate) fn take(&self, turn_id: &TurnId) -> Vec<HookRun> {
        self.lock().get_mut(turn_id).map(std::mem::take).unwrap_or_default()
    }

    /// Returns records that could not be written.
    pub(crate) fn put_back(&self, turn_id: &TurnId, runs: Vec<HookRun>) {
        match self.lock().get_mut(turn_id) {
            // In front, because later records of the turn may have arrived meanwhile and the order must not change.
            Some(held) => drop(held.splice(..0, runs)),
            // The turn was released meanwhile, so nothing will take them any more.
            None => runs.into_iter().for_each(|run| self.send(run)),
        }
    }

    /// Queues the remaining records of a turn and stops holding later ones back.
    pub(crate) fn release(&self, turn_id: &TurnId) {
        let left = self.lock().remove(turn_id);
        left.into_iter().flatten().for_each(|run| self.send(run));
    }

    fn send(&self, run: HookRun) {
        // Drop the record rather than wait: a full queue means that the database is down, and turns must go on.
        if let Err(TrySendError::Full(WriterMessage::Run(run))) =
            self.sender.try_send(WriterMessage::Run(Box::new(run)))
        {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            // Log the first loss and every power of two, so that a flood of losses does not flood the log.
            if lost.is_power_of_two() {
                tracing::error!(lost, hook = run.hook_id, "dropped hook records: the write queue is full");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Vec<HookRun>>> {
        self.held.lock()
    }

    /// Waits until everything queued so far is written or given up. Call this at shutdown only.
    pub(crate) async fn written(&self) {
        // Cancel before queueing: the writer may be waiting for the database with a full queue behind it.
        self.shutting_down.cancel();
        let (sender, receiver) = oneshot::channel();
        if self.sender.send(WriterMessage::Written(sender)).await.is_ok() {
            let _ = receiver.await;
        }
    }
}

impl Recorder for HookRunWriter {
    fn record(&self, run: HookRun) {
        if let Some(turn_id) = &run.turn_id
            && let Some(runs) = self.lock().get_mut(turn_id)
        {
            // These records join the turn's next commit, which saves a transaction per phase.
            return runs.push(run);
        }
        self.send(run);
    }

    fn deliver(&self, run: &HookRun, contributed: Vec<Contributed>) {
        let (Some(workspace_id), Some(turn_id)) = (&run.workspace_id, &run.turn_id) else {
            return tracing::debug!(hook = run.hook_id, "ignored jobs of a hook run without a turn");
        };
        for job in contributed.iter().filter_map(|it| new_job(workspace_id, turn_id, it)) {
            if let Err(TrySendError::Full(_)) = self.sender.try_send(WriterMessage::Job(Box::new(job))) {
                tracing::error!(hook = run.hook_id, "dropped a job: the write queue is full");
            }
        }
    }
}

async fn write(store: Store, mut receiver: Receiver<WriterMessage>, shutting_down: CancellationToken) {
    let mut entries = Vec::new();
    // Records that arrive during a transaction form the next batch, so under load the cost per record falls.
    while receiver.recv_many(&mut entries, BATCH).await > 0 {
        let mut runs = Vec::new();
        let mut jobs = Vec::new();
        let mut waiting = Vec::new();
        for entry in entries.drain(..) {
            match entry {
                WriterMessage::Run(run) => runs.push(*run),
                WriterMessage::Job(job) => jobs.push(*job),
                WriterMessage::Written(sender) => waiting.push(sender),
            }
        }
        let deadline = Instant::now() + RETRY_LIMIT;
        let written = loop {
            match store.record_hook_runs(&runs).await {
                Err(StoreError::Unavailable(_) | StoreError::DiskFull)
                    if !shutting_down.is_cancelled() && Instant::now() < deadline =>
                {
                    let _ = tokio::time::timeout(RETRY_PAUSE, shutting_down.cancelled()).await;
                }
                written => break written,
            }
        };
        if written.is_err() {
            // Retry one by one: a record that cannot be written, such as one of a deleted thread, must not cost the
            // others.
            for run in runs {
                if let Err(error) = store.record_hook_runs(std::slice::from_ref(&run)).await {
                    tracing::error!(%error, hook = run.hook_id, "failed to write a hook record");
                }
            }
        }
        for job in jobs {
            let turn = job.turn_id.clone();
            if let Err(error) = store.add_job(job).await {
                tracing::error!(%error, %turn, "failed to store a job");
            }
        }
        // Last, so that `written` returns only after everything queued before it was handled.
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

    // An unavailable database must not fill the memory.
    #[tokio::test]
    async fn unwritten_records_are_bounded_and_counted() {
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
