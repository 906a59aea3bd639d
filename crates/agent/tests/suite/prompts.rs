//! The parts of a prompt, and how they are found, cut and kept.

mod bootstrap;
mod budgets;
mod directories;
mod documents;
mod hook_runs;
mod misbehaviour;
mod past_prompts;
mod rebuilding;
mod replaced_root;
mod sessions;
mod skills;
