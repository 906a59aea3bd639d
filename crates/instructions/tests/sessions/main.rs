//! Sessions: frozen start, announcements of files, and reminders after a resume.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod announcements;
mod delivery;
mod files;
mod imports_and_rules;
mod project;
mod resume;
#[path = "../support/mod.rs"]
mod support;
