//! Hooks through the public API: their capabilities, and the effect of misbehaviour on a phase.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod background;
mod behaviour;
mod cancellation;
mod contributions;
mod policies;
mod registration;
mod retries;
mod sequence;
