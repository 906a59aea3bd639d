//! Tests of the sidebar's tree, by example and under random interleavings.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]
#![expect(clippy::panic, reason = "a test that cannot go on fails")]

mod interleavings;
mod model;
mod rows;
