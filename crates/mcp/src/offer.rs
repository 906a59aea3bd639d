//! The tools that a server offers.

pub(crate) mod content;
pub(crate) mod definition;
pub(crate) mod name;
pub(crate) mod tool;
pub(crate) mod tool_cache;
