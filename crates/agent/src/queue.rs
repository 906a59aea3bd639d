//! Who waits for a thread, in the order in which they came.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use protocol::ThreadId;

/// One queue a thread; gone when nobody waits.
#[derive(Default)]
pub(crate) struct Queues {
    threads: Mutex<HashMap<ThreadId, Weak<tokio::sync::Mutex<()>>>>,
}

impl Queues {
    /// The queue of a thread: its lock is fair.
    pub(crate) fn of(&self, thread_id: &ThreadId) -> Arc<tokio::sync::Mutex<()>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = threads.get(thread_id).and_then(Weak::upgrade) {
            return queue;
        }
        threads.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        threads.insert(thread_id.clone(), Arc::downgrade(&queue));
        queue
    }
}
