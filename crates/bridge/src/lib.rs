//! Serves other coding agents where they are.
//!
//! [`hook`] answers an agent that runs us as a command hook: what newly applies to the path that its tool touched, and only
//! what the agent does not load by itself. [`install`] writes that hook into the agent's settings and takes it out again.
//! [`sync`] writes beside one tree of AGENTS.md files what agents with other habits need to find them.
//!
//! Whatever is written is a [`Change`]: shown before it is made, recorded, and undone to the byte where nobody has changed
//! the file since.

mod agent;
mod change;
pub mod hook;
pub mod install;
mod json_text;
pub mod mcp;
pub mod sync;

pub use agent::{AGENTS, Connected};
pub use change::{Change, ChangeError, Content, Journal, Undone};
