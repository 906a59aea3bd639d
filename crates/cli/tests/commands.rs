//! Tests of each command's output for people and programs, and of its errors.

mod agents;
mod documents;
mod files;
mod gateway;
pub(crate) mod turns;
