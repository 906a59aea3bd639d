//! The domains that contribute sections, tools and jobs to a turn.

pub(crate) mod delegation;
pub(crate) mod documents;
pub(crate) mod memory;
pub(crate) mod skills;
