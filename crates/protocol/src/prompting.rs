//! Prompts and their contributors: hooks, skills, memory, MCP servers.

pub mod hook;
pub mod mcp;
pub mod memory;
pub mod preview;
pub mod prompt;
pub mod skill;
