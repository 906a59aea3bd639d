//! Calls that write the same file wait for each other: a model may edit a file in several calls at once.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files share queues; what waits in vain does not wait long.
static QUEUES: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// Waits until nobody else in this process writes a file, whose path has no links.
pub(crate) fn wait(path: &Path) -> MutexGuard<'static, ()> {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(path);
    let position = usize::try_from(hash % QUEUES.len() as u64).unwrap_or(0);
    // Who panicked while writing left a whole file behind, the old one or the new.
    QUEUES[position].lock().unwrap_or_else(PoisonError::into_inner)
}
