//! Calls through the public interface, with good and bad input.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod bench;
mod containment;
mod list_dir;
mod permissions;
mod read_file;
mod router;
mod search;
mod shell;
mod writing;
