//! Turns through a real gateway, with a scripted model behind real HTTP.

mod approvals;
mod cancelling;
mod caps;
mod chat;
mod delegation;
mod domains;
mod environment;
mod failed_turns;
mod failures;
mod history;
mod identity;
mod injection;
mod instructions;
mod mcp_servers;
mod nodes;
mod previews;
mod private_memory;
mod proof;
mod recovery;
mod requests;
mod rounds;
mod sandbox;
mod skills;
mod turn_sections;
mod watching;
mod wording;
