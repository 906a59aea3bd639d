//! This program's own files: settings, drafts and tokens, and the directories that hold them.

pub mod drafts;
pub mod files;
pub mod paths;
pub mod settings;
pub mod tokens;
