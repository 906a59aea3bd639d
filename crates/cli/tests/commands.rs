//! Each command: what it prints for people and for programs, and how it says no.

mod agents;
mod documents;
mod files;
mod gateway;
pub(crate) mod turns;
