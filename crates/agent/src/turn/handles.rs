//! The turns that run in this process: how they are stopped, and what their models have said so far.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{TokenUsage, TurnId};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::turn::listener::TurnListener;

/// All of them.
pub(crate) struct RunningTurns {
    turns: Mutex<HashMap<TurnId, TurnHandle>>,
    ended: Notify,
    /// Places for turns that run, and for those that are about to.
    places: Arc<Semaphore>,
    /// Cancelled when the process stops.
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// A turn's place among those that may run at once, given back when dropped.
pub(crate) type TurnPermit = OwnedSemaphorePermit;

/// One of them; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct TurnHandle {
    /// Cancelled when somebody stops it.
    pub(crate) stop: CancellationToken,
    pending_text: Arc<Mutex<String>>,
    usage: Arc<Mutex<TokenUsage>>,
    pieces: Arc<Mutex<Pieces>>,
    /// Who asked, and hears everything anyway.
    asker: Option<u64>,
}

/// The pieces of an answer, and who hears them beside the one who asked. One lock for both: whoever begins to watch gets
/// each piece once, in the text so far or as a piece.
#[derive(Default)]
struct Pieces {
    text: String,
    next_index: u64,
    watchers: Vec<Arc<dyn TurnListener>>,
}

/// What had been said of a turn when somebody began to watch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerSoFar {
    /// The answer so far.
    pub(crate) text: String,
    /// The number of the next piece.
    pub(crate) next_index: u64,
}

impl TurnHandle {
    /// Takes the next piece of the answer, and says which it is and who else hears it.
    pub(crate) fn next_piece(&self, text: &str) -> (u64, Vec<Arc<dyn TurnListener>>) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.text.push_str(text);
        let index = pieces.next_index;
        pieces.next_index += 1;
        (index, pieces.living())
    }

    /// Who hears the turn beside the one who asked.
    pub(crate) fn watchers(&self) -> Vec<Arc<dyn TurnListener>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).living()
    }

    fn watch(&self, watcher: Arc<dyn TurnListener>) -> AnswerSoFar {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever asked, or watches again, is told once, not twice.
        if let Some(recipient) = watcher.recipient() {
            pieces.watchers.retain(|known| known.recipient() != Some(recipient));
        }
        if self.asker.is_none() || self.asker != watcher.recipient() {
            pieces.watchers.push(watcher);
        }
        AnswerSoFar { text: pieces.text.clone(), next_index: pieces.next_index }
    }

    /// Adds to what the model is saying in this round.
    pub(crate) fn push_text(&self, text: &str) {
        self.lock().push_str(text);
    }

    /// The pending text has been stored.
    pub(crate) fn text_stored(&self) {
        self.lock().clear();
    }

    /// What the model is saying and nobody has stored yet.
    pub(crate) fn pending_text(&self) -> Option<String> {
        let text = self.lock().clone();
        (!text.is_empty()).then_some(text)
    }

    /// Adds to what the turn has cost.
    pub(crate) fn spend(&self, usage: TokenUsage) {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// What the turn has cost so far.
    pub(crate) fn usage(&self) -> TokenUsage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.pending_text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pieces {
    fn living(&mut self) -> Vec<Arc<dyn TurnListener>> {
        self.watchers.retain(|watcher| !watcher.is_gone());
        self.watchers.clone()
    }
}

impl RunningTurns {
    /// Lets somebody hear a turn from now on; none when it does not run here.
    pub(crate) fn watch(&self, turn_id: &TurnId, watcher: Arc<dyn TurnListener>) -> Option<AnswerSoFar> {
        let turns = self.lock();
        Some(turns.get(turn_id)?.watch(watcher))
    }

    /// With places for so many turns at once.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            turns: Mutex::default(),
            ended: Notify::default(),
            places: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            shutdown: CancellationToken::default(),
            tasks: TaskTracker::default(),
        }
    }

    /// A place for one more turn; none when all are taken.
    pub(crate) fn take_place(&self) -> Option<TurnPermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    pub(crate) fn begin(&self, turn_id: &TurnId, asker: Option<u64>, stop: CancellationToken) -> TurnHandle {
        let turn = TurnHandle { asker, stop, ..TurnHandle::default() };
        self.lock().insert(turn_id.clone(), turn.clone());
        turn
    }

    pub(crate) fn end(&self, turn_id: &TurnId) {
        self.lock().remove(turn_id);
        self.ended.notify_waiters();
    }

    /// The turns that run here.
    pub(crate) fn ids(&self) -> Vec<TurnId> {
        self.lock().keys().cloned().collect()
    }

    /// Stops a turn and waits for its end; false when it does not run here.
    pub(crate) async fn stop(&self, turn_id: &TurnId) -> bool {
        let Some(turn) = self.lock().get(turn_id).cloned() else { return false };
        turn.stop.cancel();
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if !self.lock().contains_key(turn_id) {
                return true;
            }
            ended.await;
        }
    }

    /// What a model is saying and nobody has stored yet.
    pub(crate) fn pending_text(&self, turn_id: &TurnId) -> Option<String> {
        self.lock().get(turn_id)?.pending_text()
    }

    /// Stops everything and waits until that is written down.
    pub(crate) async fn shut_down(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, TurnHandle>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
