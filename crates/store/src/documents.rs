//! Documents of workspaces and folders: their text, their revisions, and which one applies to a thread.

pub(crate) mod document;
pub(crate) mod resolution;
pub(crate) mod revisions;
pub(crate) mod scope;

pub use resolution::RESOLVE_FOR_THREAD;
pub use scope::Scope;
