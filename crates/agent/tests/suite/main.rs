//! Prompts and turns over a real store and a real disk, with hooks that misbehave.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod conversation;
mod fixture;
mod history;
mod memory;
mod prompts;
mod stage;
mod turns;
