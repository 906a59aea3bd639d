//! Turns, through a real gateway and a scripted model that speaks over real HTTP.

mod approvals;
mod cancelling;
mod caps;
mod chat;
mod delegation;
mod environment;
mod failures;
mod history;
mod identity;
mod injection;
mod instructions;
mod mcp_servers;
mod nodes;
mod previews;
mod proof;
mod recovery;
mod replaced_root;
mod requests;
mod rounds;
mod said_once;
mod sandbox;
mod skills;
mod unanswered;
mod watching;
mod wording;
