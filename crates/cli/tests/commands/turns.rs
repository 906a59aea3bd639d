//! Tests of the commands for turns and prompts.

mod approvals;
mod delegation;
mod past_prompts;
mod prompt;
mod prompt_directory;
mod prompt_frozen;
mod prompt_settings;
mod recordings;
pub(crate) mod starting;
mod turn_failures;
mod turn_views;
