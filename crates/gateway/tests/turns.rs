//! Turns through a real gateway, with a scripted model behind real HTTP.

mod approvals;
mod chat;
mod delegation;
mod failures;
mod identity;
mod injection;
mod mcp_servers;
mod nodes;
mod private_memory;
mod proof;
mod requests;
mod rounds;
mod sandbox;
mod skills;
mod watching;
mod why;
