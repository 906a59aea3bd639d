//! The tools for files, and access to the workspace.

pub(crate) mod blocking;
pub(crate) mod content;
pub(crate) mod edit_file;
pub(crate) mod error;
pub(crate) mod hidden_places;
pub(crate) mod list_dir;
pub(crate) mod location;
pub(crate) mod protection;
pub(crate) mod read_file;
pub(crate) mod restore_shown_text;
pub(crate) mod search;
pub(crate) mod text_replacement;
pub(crate) mod write_file;
pub(crate) mod write_lock;
