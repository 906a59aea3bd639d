//! The behavior of the store on SQLite and PostgreSQL.
//!
//! Each test is one body that runs on both databases, as `name::sqlite` and `name::postgres`; see [`fixture`]. Tests of
//! only one database have it in their names. Run with `with-postgres cargo nextest run -p foreword-store`, so
//! that the tests share one PostgreSQL server.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[macro_use]
mod fixture;

mod actors;
mod approvals;
mod archive;
mod audit;
mod changes;
mod concurrency;
mod delegation;
mod deleted_folders;
mod documents;
mod failures;
mod folders;
mod forgetting;
mod history;
mod hook_runs;
mod jobs;
mod leases;
mod manifests;
mod memories;
mod migrations;
mod names;
mod opening;
mod params;
mod prompt_texts;
mod refusals;
mod resolution;
mod resolution_property;
mod restore;
mod retention;
mod rounds;
mod schema;
mod sessions;
mod stops;
mod thread_contexts;
mod threads;
mod tokens;
mod tree;
mod turn_events;
mod turn_items;
mod turn_sessions;
mod turns;
mod versions;
mod wakes;
mod workspaces;
