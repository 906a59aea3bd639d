//! Prompts and turns over a real store and a real disk, with hooks that misbehave.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod bootstrap;
mod budgets;
mod conversation;
mod directories;
mod documents;
mod extraction;
mod failed_turns;
mod fixture;
mod hidden_tools;
mod history;
mod hook_runs;
mod jobs;
mod long_history;
mod memory;
mod misbehaviour;
mod past_prompts;
mod rebuilding;
mod recovery;
mod replaced_root;
mod rounds;
mod sessions;
mod skills;
mod sources;
mod stage;
mod statements;
mod stopping;
