//! The tree of a workspace: its folders, its threads, and where each thread is.

pub(crate) mod deleted_folders;
pub(crate) mod folders;
pub(crate) mod relocated_children;
pub(crate) mod snapshot;
pub(crate) mod threads;

pub use deleted_folders::RestoredFolder;
pub use relocated_children::{Moved, RelocatedChildren};
