//! Integrates Foreword with other coding agents.
//!
//! [`hook`] answers command hooks: it returns what newly applies to a path that a tool touched and that the agent does
//! not load on its own. [`install`] adds that hook to an agent's settings and removes it again. [`sync`] writes the
//! files that agents with other conventions need next to a tree of AGENTS.md files.
//!
//! Every file operation is a [`Change`]: previewed, applied, recorded, and undone byte for byte if the file has not
//! been changed since.

mod agent;
mod change;
pub mod hook;
pub mod install;
mod json_text;
pub mod sync;

pub use agent::{AGENTS, Asking, Connected, Note};
pub use change::{Change, ChangeError, Content, Journal, Undone};
