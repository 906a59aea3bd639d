//! Tests of the commands for workspaces, threads and documents.

mod editing;
mod events;
mod folders;
mod memory;
mod names;
mod threads;
mod workspace_chain;
mod workspaces;
