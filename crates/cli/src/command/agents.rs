//! Commands that connect other agents, MCP clients and skills.

pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod mcp;
pub(crate) mod mcp_status;
pub(crate) mod skill;
pub(crate) mod sync;
pub(crate) mod trust;
