//! Sessions: a frozen start, files announced once as an agent moves, and what a resumed session is told.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod announcements;
mod delivery;
mod files;
mod imports_and_rules;
mod project;
mod resume;
#[path = "../support/mod.rs"]
mod support;
