//! The tools of a round, and where they come from.

pub(crate) mod request_tools;
pub(crate) mod source;
pub(crate) mod tool;
pub(crate) mod toolbox;
