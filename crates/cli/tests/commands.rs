//! Each command: what it prints for people and for programs, and how it says no.

mod completions;
mod configuration;
mod documents;
mod events;
mod explain;
mod finding;
mod folders;
mod imports;
mod json;
mod output;
mod past_prompts;
mod prompt;
mod prompt_directory;
mod prompt_frozen;
mod prompt_settings;
mod providers;
mod resolve;
mod schema;
mod session;
mod show;
mod threads;
mod tokens;
mod turns;
mod watch;
mod workspace_chain;
mod workspaces;
