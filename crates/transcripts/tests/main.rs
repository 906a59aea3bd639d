//! Tests with recorded and made-up sessions.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a fixture that cannot be made fails its test")]

mod bad_input;
mod support;
mod truth;
mod verdicts;
