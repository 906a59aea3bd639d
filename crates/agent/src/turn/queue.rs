//! Queues of turns that wait for a thread, first come, first served.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use protocol::ThreadId;
use protocol::limits::MAX_WAITING_TURNS;

/// One queue per thread, dropped with its last waiter.
#[derive(Default)]
pub(crate) struct Queues {
    threads: Mutex<HashMap<ThreadId, Weak<tokio::sync::Mutex<()>>>>,
}

impl Queues {
    /// Returns the queue of a thread, whose lock is fair; `None` if it is full. Holding the queue counts as waiting.
    pub(crate) fn of(&self, thread_id: &ThreadId) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let mut threads = self.threads.lock();
        if let Some(queue) = threads.get(thread_id).and_then(Weak::upgrade) {
            // The upgraded handle counts as well, hence `<=`.
            return (Arc::strong_count(&queue) <= MAX_WAITING_TURNS).then_some(queue);
        }
        // Drop empty queues whenever one is added, so that the map does not grow with the number of threads ever
        // used.
        threads.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        threads.insert(thread_id.clone(), Arc::downgrade(&queue));
        Some(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_of_a_thread_is_bounded() {
        let queues = Queues::default();
        let thread = ThreadId::new();
        let other = ThreadId::new();
        let mut waiting: Vec<_> =
            (0..MAX_WAITING_TURNS).map(|_| queues.of(&thread).expect("a place")).collect();
        assert!(queues.of(&thread).is_none());
        assert!(queues.of(&other).is_some(), "threads do not wait for each other");
        drop(waiting.pop());
        assert!(queues.of(&thread).is_some(), "whoever leaves makes room");
    }
}
