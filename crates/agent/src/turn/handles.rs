//! Turns running in this process: how to stop them, and their answers so far.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use protocol::{TokenUsage, TurnId};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::turn::listener::TurnListener;

/// All turns running in this process.
pub(crate) struct RunningTurns {
    turns: Mutex<HashMap<TurnId, TurnHandle>>,
    ended: Notify,
    /// Permits for turns that run or are about to.
    slots: Arc<Semaphore>,
    /// Cancelled when the process stops.
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// A turn's slot among the concurrent turns, released when dropped.
pub(crate) type TurnPermit = OwnedSemaphorePermit;

/// Handle of a running turn. Clones share state.
#[derive(Clone, Default)]
pub(crate) struct TurnHandle {
    /// Cancelled to stop the turn.
    pub(crate) stop: CancellationToken,
    pending_text: Arc<Mutex<String>>,
    usage: Arc<Mutex<TokenUsage>>,
    /// The request that the provider is answering.
    asked: Arc<Mutex<Option<AskedRound>>>,
    pieces: Arc<Mutex<Pieces>>,
    /// Recipient that started the turn, and receives every piece anyway.
    starter: Option<u64>,
}

/// A request without a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AskedRound {
    pub(crate) round: u32,
    /// Usage as far as the provider has reported it.
    usage: TokenUsage,
    /// Tokens of the request by our count.
    estimate: u64,
}

impl AskedRound {
    pub(crate) fn new(round: u32, estimate: u64) -> Self {
        Self { round, usage: TokenUsage::default(), estimate }
    }

    /// Returns the usage of the request, with `output` tokens printed so far. Some providers report nothing before the
    /// end of an answer; the input is estimated then, because it has to be paid for in any case.
    pub(crate) fn usage(&self, output: u64) -> TokenUsage {
        let input = if self.usage.input == 0 { self.estimate } else { self.usage.input };
        TokenUsage { input, output: self.usage.output.max(output), ..self.usage }
    }
}

/// The pieces of an answer and their watchers. One lock guards both, so that a new watcher receives each piece
/// exactly once: in the text so far, or as a piece.
#[derive(Default)]
struct Pieces {
    text: String,
    next_index: u64,
    watchers: Vec<Arc<dyn TurnListener>>,
}

/// The answer at the moment a watcher subscribed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerSoFar {
    pub(crate) text: String,
    /// Index of the next piece.
    pub(crate) next_index: u64,
}

impl TurnHandle {
    /// Appends a piece of the answer; returns its index and the watchers to notify.
    pub(crate) fn next_piece(&self, text: &str) -> (u64, Vec<Arc<dyn TurnListener>>) {
        let mut pieces = self.pieces.lock();
        pieces.text.push_str(text);
        let index = pieces.next_index;
        pieces.next_index += 1;
        (index, pieces.connected())
    }

    /// Returns the watchers besides the listener that started the turn.
    pub(crate) fn watchers(&self) -> Vec<Arc<dyn TurnListener>> {
        self.pieces.lock().connected()
    }

    fn watch(&self, watcher: Arc<dyn TurnListener>) -> AnswerSoFar {
        let mut pieces = self.pieces.lock();
        // A recipient that started the turn or watches again must receive each piece once.
        if let Some(recipient) = watcher.recipient() {
            pieces.watchers.retain(|known| known.recipient() != Some(recipient));
        }
        if self.starter.is_none() || self.starter != watcher.recipient() {
            pieces.watchers.push(watcher);
        }
        AnswerSoFar { text: pieces.text.clone(), next_index: pieces.next_index }
    }

    /// Appends to the text of the current round.
    pub(crate) fn push_text(&self, text: &str) {
        self.lock().push_str(text);
    }

    /// Clears the pending text after it was stored.
    pub(crate) fn text_stored(&self) {
        self.lock().clear();
    }

    /// Returns the text of the current round that is not stored yet.
    pub(crate) fn pending_text(&self) -> Option<String> {
        let text = self.lock().clone();
        (!text.is_empty()).then_some(text)
    }

    /// Notes that a request is about to be sent.
    pub(crate) fn ask(&self, round: AskedRound) {
        *self.asked.lock() = Some(round);
    }

    /// Updates the usage of the request that is being answered.
    pub(crate) fn report(&self, usage: TokenUsage) {
        if let Some(asked) = self.asked.lock().as_mut() {
            asked.usage = usage;
        }
    }

    /// Returns the request whose answer has not ended, and forgets it.
    pub(crate) fn take_asked(&self) -> Option<AskedRound> {
        self.asked.lock().take()
    }

    /// Adds to the cost of the turn.
    pub(crate) fn spend(&self, usage: TokenUsage) {
        *self.usage.lock() += usage;
    }

    /// Returns the cost of the turn so far.
    pub(crate) fn usage(&self) -> TokenUsage {
        *self.usage.lock()
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.pending_text.lock()
    }
}

impl Pieces {
    fn connected(&mut self) -> Vec<Arc<dyn TurnListener>> {
        self.watchers.retain(|watcher| !watcher.is_gone());
        self.watchers.clone()
    }
}

impl RunningTurns {
    /// Subscribes a watcher; `None` if the turn does not run in this process.
    pub(crate) fn watch(&self, turn_id: &TurnId, watcher: Arc<dyn TurnListener>) -> Option<AnswerSoFar> {
        let turns = self.lock();
        Some(turns.get(turn_id)?.watch(watcher))
    }

    /// Creates the registry with slots for `limit` turns.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            turns: Mutex::default(),
            ended: Notify::default(),
            slots: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            shutdown: CancellationToken::default(),
            tasks: TaskTracker::default(),
        }
    }

    /// Reserves a slot for one more turn; `None` if all are taken.
    pub(crate) fn reserve_slot(&self) -> Option<TurnPermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    pub(crate) fn begin(
        &self,
        turn_id: &TurnId,
        starter: Option<u64>,
        stop: CancellationToken,
    ) -> TurnHandle {
        let turn = TurnHandle { starter, stop, ..TurnHandle::default() };
        self.lock().insert(turn_id.clone(), turn.clone());
        turn
    }

    pub(crate) fn end(&self, turn_id: &TurnId) {
        self.lock().remove(turn_id);
        self.ended.notify_waiters();
    }

    /// Returns the ids of the turns running here.
    pub(crate) fn ids(&self) -> Vec<TurnId> {
        self.lock().keys().cloned().collect()
    }

    /// Stops a turn and waits for its end; false if it does not run here.
    pub(crate) async fn stop(&self, turn_id: &TurnId) -> bool {
        let Some(turn) = self.lock().get(turn_id).cloned() else { return false };
        turn.stop.cancel();
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Register before checking the map. Otherwise the turn could end between the check and the wait, and its
            // notification would be missed.
            ended.as_mut().enable();
            if !self.lock().contains_key(turn_id) {
                return true;
            }
            ended.await;
        }
    }

    /// Returns the text of the current round that is not stored yet.
    pub(crate) fn pending_text(&self, turn_id: &TurnId) -> Option<String> {
        self.lock().get(turn_id)?.pending_text()
    }

    /// Stops all turns and waits until their ends are written.
    pub(crate) async fn shut_down(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, TurnHandle>> {
        self.turns.lock()
    }
}
