//! Changes of a workspace: each takes sequence numbers, and is logged under them.

pub(crate) mod single_statement;
pub(crate) mod workspace_write;
