//! Serialises calls that write the same file: a model may edit a file with several parallel calls.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use parking_lot::{Mutex, MutexGuard};

/// Locks shared by hash. A collision only delays a write.
static QUEUES: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// Waits until no other call of this process writes a file. `path` is resolved.
pub(crate) fn wait(path: &Path) -> MutexGuard<'static, ()> {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(path);
    let position = usize::try_from(hash % QUEUES.len() as u64).unwrap_or(0);
    // A writer that panicked does not poison the lock. That is right here: writes are atomic, so it left a complete file,
    // old or new.
    QUEUES[position].lock()
}
