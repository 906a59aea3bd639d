//! Findings in projects, tidy and broken.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod bad_input;
mod rules;
mod support;
