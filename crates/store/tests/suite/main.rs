//! The behavior of the store on SQLite and PostgreSQL.
//!
//! Each test is one body that runs on both databases, as `name::sqlite` and `name::postgres`; see [`fixture`]. Tests of
//! only one database have it in their names. Run with `with-postgres cargo nextest run -p foreword-store`, so
//! that the tests share one PostgreSQL server.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
mod fixture;

mod documents;
mod engine;
mod memory;
mod params;
mod tree;
mod turns;
mod workspaces;
