//! Chance that repeats itself: the same seed gives the same faults, though not the same moments.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

pub(crate) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, self.drawn).hash(&mut hasher);
        usize::try_from(hasher.finish() % limit.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn time(&mut self, shortest: Duration, longest: Duration) -> Duration {
        let range = usize::try_from((longest - shortest).as_millis()).unwrap_or(usize::MAX);
        shortest + Duration::from_millis(self.below(range) as u64)
    }
}
