//! Hooks from outside: what they may do, and what becomes of a phase when they do something else.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod background;
mod behaviour;
mod cancellation;
mod contributions;
mod policies;
mod registration;
mod retries;
mod sequence;
