//! The kinds of rules that profiles are made of.

pub(super) mod duplicates;
pub(super) mod hazards;
pub(super) mod imports;
pub(super) mod json_settings;
pub(super) mod nested;
pub(super) mod render;
pub(super) mod rule_folders;
pub(super) mod text;
