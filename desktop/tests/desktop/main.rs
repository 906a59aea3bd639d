//! The real views in windows without a screen, against real gateways in temporary directories.
//!
//! `foreword` itself is the one of the root workspace: `FOREWORD_PROGRAM`, or what `cargo build` there made.

#![expect(clippy::panic, clippy::unwrap_used, reason = "test helpers fail like tests")]
#![expect(clippy::print_stdout, reason = "a measurement prints its results")]

mod connection;
mod documents;
mod harness;
mod history;
mod hostile;
mod keys;
mod large;
mod pictures;
mod prompts;
mod proxy;
mod stage;
mod threads;
mod tree;
