//! Time of each gateway's last acknowledged save, used to measure stalls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) struct Progress {
    begun: Instant,
    saves: AtomicU64,
    /// Milliseconds from the start to each gateway's last acknowledgement.
    last: Vec<AtomicU64>,
}

impl Progress {
    pub(crate) fn new(nodes: usize) -> Self {
        let last = (0..nodes).map(|_| AtomicU64::new(0)).collect();
        Self { begun: Instant::now(), saves: AtomicU64::new(0), last }
    }

    /// Records an acknowledged save.
    pub(crate) fn acknowledge(&self, node: usize) {
        self.saves.fetch_add(1, Ordering::Relaxed);
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The maximum, because two writers may record out of order, and time must not run backwards.
        self.last[node].fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn saves(&self) -> u64 {
        self.saves.load(Ordering::Relaxed)
    }

    /// Returns how long a gateway has acknowledged nothing since `since`.
    pub(crate) fn stall(&self, node: usize, since: Instant) -> Duration {
        let last = self.begun + Duration::from_millis(self.last[node].load(Ordering::Relaxed));
        Instant::now().saturating_duration_since(last.max(since))
    }
}
