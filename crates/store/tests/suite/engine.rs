//! The engines: schema, migrations, failures, wakes, and writers side by side.

mod concurrency;
mod failures;
mod migrations;
mod opening;
mod schema;
pub(crate) mod wakes;
