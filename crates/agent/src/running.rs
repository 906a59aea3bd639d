//! The turns that run in this process: how they are stopped, and what their models have said so far.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{TokenUsage, TurnId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// All of them.
#[derive(Default)]
pub(crate) struct Running {
    turns: Mutex<HashMap<TurnId, RunningTurn>>,
    ended: Notify,
    /// Cancelled when the process stops.
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// One of them; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct RunningTurn {
    /// Cancelled when somebody stops it.
    pub(crate) stop: CancellationToken,
    pending_text: Arc<Mutex<String>>,
    usage: Arc<Mutex<TokenUsage>>,
}

impl RunningTurn {
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

impl Running {
    pub(crate) fn begin(&self, turn_id: &TurnId) -> RunningTurn {
        let turn = RunningTurn::default();
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

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, RunningTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
