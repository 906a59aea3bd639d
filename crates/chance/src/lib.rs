//! Reproducible randomness: the same seed gives the same choices.
//!
//! ```
//! use chance::Chance;
//!
//! let mut chance = Chance::new(7);
//! let drawn: Vec<usize> = (0..4).map(|_| chance.below(10)).collect();
//! let mut again = Chance::new(7);
//! assert!(drawn.iter().all(|number| again.below(10) == *number));
//! ```

use std::time::Duration;

/// A small generator (splitmix64) that is the same on every machine and good enough for choices.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Creates another generator, for a concurrent task: sharing one would make the choices depend on scheduling.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        // The modulo bias is negligible for limits far below 2^64.
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or(0)
    }

    /// Returns true in `share` of a hundred cases.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Returns a duration between two others, in whole microseconds.
    pub fn time(&mut self, shortest: Duration, longest: Duration) -> Duration {
        // Saturating, so that limits in the wrong order give the shortest duration instead of a panic in a
        // test.
        let range = usize::try_from(longest.saturating_sub(shortest).as_micros()).unwrap_or(usize::MAX);
        shortest + Duration::from_micros(self.below(range) as u64)
    }
}
