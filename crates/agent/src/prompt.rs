//! Prompts: preparing the next one, previewing it, and keeping the record of those that were sent.

pub(crate) mod compare;
pub(crate) mod contributions;
pub(crate) mod files;
pub(crate) mod manifests;
pub(crate) mod notes;
pub(crate) mod prepare;
pub(crate) mod preview;
pub(crate) mod runtime_context;
pub(crate) mod session;
