//! Paths and files on disk: containment, reading, and Git's own files.

pub mod contained_path;
mod excluded_paths;
pub mod file;
pub(crate) mod git;
pub(crate) mod git_hooks;
pub mod path;
pub(crate) mod snapshot;
pub(crate) mod source;
pub mod stored_path;
