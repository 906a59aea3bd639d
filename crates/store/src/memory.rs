//! Memory: items that are remembered, searched for, recalled by turns, and forgotten.

pub(crate) mod additions;
pub(crate) mod forgetting;
pub(crate) mod items;
pub(crate) mod purge;
pub(crate) mod search;
pub(crate) mod uses;

pub use additions::{Added, NewMemory};
pub use forgetting::Forgotten;
pub use items::{MemoryFilter, MemoryPlace, MemoryPlaceError, MemoryView};
pub use search::{Recallable, WordMatch};
