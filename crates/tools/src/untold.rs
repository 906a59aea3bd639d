//! What calls did that is not told yet. A call may be stopped at any moment; what must be put right after it still is, and
//! somebody has to hear of it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::CallEffects;
use tokio_util::task::TaskTracker;

/// The calls of a turn whose effects are in no answer that was kept. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct UntoldEffects {
    tasks: TaskTracker,
    calls: Arc<Mutex<Vec<UntoldCall>>>,
}

/// A call that has ended, whether or not anybody waited for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntoldCall {
    /// The call.
    pub call_id: String,
    /// The tool that was called.
    pub tool: String,
    /// What it did besides answering.
    pub effects: CallEffects,
}

impl UntoldEffects {
    /// Runs something that is finished even when nobody waits for it any more.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    pub(crate) fn add(&self, call: UntoldCall) {
        self.lock().push(call);
    }

    /// An answer that tells what a call did has been kept.
    pub fn forget(&self, call_id: &str) {
        self.lock().retain(|call| call.call_id != call_id);
    }

    /// Waits for calls that were stopped, but not for longer than this, and takes what is not told.
    pub async fn settle(&self, time: Duration) -> Vec<UntoldCall> {
        self.tasks.close();
        if tokio::time::timeout(time, self.tasks.wait()).await.is_err() {
            tracing::warn!("a call that was stopped has not put back what it changed in time");
        }
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<UntoldCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
