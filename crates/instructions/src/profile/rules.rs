//! The kinds of rules that profiles consist of.

pub(super) mod budget;
pub(super) mod choose;
pub(super) mod imports;
pub(super) mod render;
pub(super) mod rule_folders;
pub(super) mod search;
pub(super) mod session;
pub(super) mod settings;
pub(super) mod text;
