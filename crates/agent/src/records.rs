//! Keeps a record of every hook that ran, without making anybody wait for the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hooks::{Contributed, HookRun, Recorder};
use protocol::TurnId;
use store::Store;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Records that are written in one transaction.
const BATCH: usize = 256;

/// Hands records to a task that writes them; those of a held turn go with what the turn writes next.
pub(crate) struct Records {
    sender: UnboundedSender<Entry>,
    held: Mutex<HashMap<TurnId, Vec<HookRun>>>,
}

enum Entry {
    Run(Box<HookRun>),
    /// Whoever sends it wants to know when everything before it is written.
    Written(oneshot::Sender<()>),
}

impl Records {
    /// Starts the task; it ends when nobody can send any more.
    pub(crate) fn start(store: Store) -> Self {
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(write(store, receiver));
        Self { sender, held: Mutex::default() }
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
        let _ = self.sender.send(Entry::Run(Box::new(run)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Vec<HookRun>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything so far is written.
    pub(crate) async fn written(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.sender.send(Entry::Written(sender)).is_ok() {
            let _ = receiver.await;
        }
    }
}

impl Recorder for Records {
    fn record(&self, run: HookRun) {
        if let Some(turn_id) = &run.turn_id
            && let Some(runs) = self.lock().get_mut(turn_id)
        {
            return runs.push(run);
        }
        self.send(run);
    }

    fn deliver(&self, run: &HookRun, contributed: Vec<Contributed>) {
        // Nothing consumes jobs of background hooks yet; that there were some is in the record.
        tracing::debug!(hook = run.hook_id, jobs = contributed.len(), "a background hook contributed");
    }
}

async fn write(store: Store, mut receiver: UnboundedReceiver<Entry>) {
    let mut entries = Vec::new();
    while receiver.recv_many(&mut entries, BATCH).await > 0 {
        let mut runs = Vec::new();
        let mut waiting = Vec::new();
        for entry in entries.drain(..) {
            match entry {
                Entry::Run(run) => runs.push(*run),
                Entry::Written(sender) => waiting.push(sender),
            }
        }
        if store.record_hook_runs(&runs).await.is_err() {
            // One that cannot be written, such as that of a thread that is no more, must not cost the others.
            for run in runs {
                if let Err(error) = store.record_hook_runs(std::slice::from_ref(&run)).await {
                    tracing::error!(%error, hook = run.hook_id, "the record of a hook could not be written");
                }
            }
        }
        for sender in waiting {
            let _ = sender.send(());
        }
    }
}
