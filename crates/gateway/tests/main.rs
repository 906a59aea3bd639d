//! A gateway as its clients see it: every test talks to a real one through a real connection.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what tests share fails the test that uses it"
)]

mod access;
mod compare;
mod connections;
mod console;
mod documents;
mod mcp_endpoint;
mod memory;
mod prompts;
mod support;
mod transcript;
mod tree;
mod turns;
