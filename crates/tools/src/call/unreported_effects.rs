//! Effects of calls that no stored result reports yet. A call may be stopped at any moment. Its cleanup still runs, and the
//! effects must still be reported.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use protocol::CallEffects;
use tokio_util::task::TaskTracker;

/// Unreported effects of a turn's calls. Clones share state.
#[derive(Debug, Clone, Default)]
pub struct UnreportedEffects {
    tasks: TaskTracker,
    calls: Arc<Mutex<Vec<UnreportedCall>>>,
}

/// Effects of a call that has ended, whether or not its answer was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreportedCall {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Side effects of the call.
    pub effects: CallEffects,
}

impl UnreportedEffects {
    /// Runs a task to its end even if its result is no longer awaited.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    pub(crate) fn add(&self, call: UnreportedCall) {
        self.lock().push(call);
    }

    /// Removes a call whose stored result reports the effects.
    pub fn forget(&self, call_id: &str) {
        self.lock().retain(|call| call.call_id != call_id);
    }

    /// Waits for the tasks of stopped calls, at most for `time`, and takes the effects that are unreported.
    pub async fn settle(&self, time: Duration) -> Vec<UnreportedCall> {
        // A tracker that is open counts as busy even without tasks, and waiting for it would always take the whole
        // time.
        self.tasks.close();
        if tokio::time::timeout(time, self.tasks.wait()).await.is_err() {
            tracing::warn!("a call that was stopped has not put back what it changed in time");
        }
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<UnreportedCall>> {
        self.calls.lock()
    }
}
