//! Random numbers that differ between test processes. They are not secret.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

pub(crate) fn number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Returns a number of a non-empty range.
pub(crate) fn within(range: Range<u16>) -> u16 {
    let offset = number() % u64::from(range.end - range.start);
    // The offset is smaller than the range, so it fits.
    range.start + u16::try_from(offset).unwrap_or(0)
}
