//! A gateway as its clients see it: every test talks to a real one through a real connection.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what tests share fails the test that uses it"
)]

mod access;
mod addresses;
mod audit;
mod authentication;
mod compare;
mod connections;
mod documents;
mod events;
mod expiry;
mod malformed;
mod mcp_endpoint;
mod memory;
mod outage;
mod prompts;
mod rate_limit;
mod secrets;
mod shutdown;
mod slow;
mod support;
mod traffic;
mod transcript;
mod tree;
mod turns;
