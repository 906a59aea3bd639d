//! Tests of document editing, by example and under random interleavings.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]
#![expect(clippy::panic, reason = "a test that cannot go on fails")]

mod conflicts;
mod interleavings;
mod model;
mod saving;
