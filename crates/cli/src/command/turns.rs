//! Commands that run turns and compile prompts.

pub(crate) mod prompt;
pub(crate) mod turn;
