//! Turns of a thread: messages, tool calls, approvals, rounds, sessions.

pub mod message;
pub(crate) mod redaction;
pub mod round;
pub mod sandbox;
pub(crate) mod scope;
pub mod session;
pub mod tool;
pub mod transcript;
pub mod turn;
