//! Commands for workspaces, threads, documents and memories.

pub(crate) mod doc;
pub(crate) mod events;
pub(crate) mod folder;
pub(crate) mod memory;
pub(crate) mod thread;
pub(crate) mod workspace;
