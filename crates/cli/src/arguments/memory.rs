//! `foreword memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::{MemoryItemId, MemoryScope, MemoryStatus};

use super::InWorkspace;
use crate::arguments::expiry::Expiry;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// List memories, newest first
    List {
        /// Only items in this scope
        #[arg(long, value_parser = one_of::<MemoryScope>())]
        scope: Option<MemoryScope>,
        /// Only items of this thread, by title, path, id or `last`
        #[arg(long)]
        thread: Option<String>,
        /// Only items with this status
        #[arg(long, value_parser = one_of::<MemoryStatus>(), default_value = "active")]
        status: MemoryStatus,
        /// Maximum number of items
        #[arg(long, default_value_t = protocol::limits::DEFAULT_HISTORY_LIMIT)]
        limit: u32,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Add a memory
    Add(MemoryAdd),
    /// Search memories, best match first
    Search {
        /// Words to find; prefers items that contain all of them
        #[arg(required = true)]
        words: Vec<String>,
        /// Only items of this thread, by title, path, id or `last`
        #[arg(long)]
        thread: Option<String>,
        /// Maximum number of items
        #[arg(long, default_value_t = protocol::limits::DEFAULT_MEMORY_SEARCH)]
        limit: u32,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Show a memory with its full text
    Show {
        /// Id, as printed by `foreword memory list`
        id: MemoryItemId,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Delete a memory permanently, including every stored text that recalled it
    Forget {
        /// Id, as printed by `foreword memory list`
        id: MemoryItemId,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Export memories for `foreword memory import`
    Export {
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Import exported memories; existing ones are kept
    Import {
        /// File to import [default: standard input, like `-`]
        file: Option<PathBuf>,
        #[command(flatten)]
        workspace: InWorkspace,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MemoryAdd {
    /// Text to remember; `-` reads it from standard input
    pub(crate) text: String,
    /// Category in a word or a few; a `preference` is recalled in every turn [default: `fact`, or the category of the
    /// superseded item]
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Scope: this workspace, all workspaces of yours (user), or one thread [default: workspace]
    #[arg(long, value_parser = one_of::<MemoryScope>())]
    pub(crate) scope: Option<MemoryScope>,
    /// Thread of the memory, by title, path, id or `last`; implies the scope `thread`
    #[arg(long)]
    pub(crate) thread: Option<String>,
    /// Validity, as a duration such as `30 days` or a time such as `2027-01-31T00:00:00Z` [default: forever]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Expiry>,
    /// Id of an item to replace
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<MemoryItemId>,
    #[command(flatten)]
    pub(crate) workspace: InWorkspace,
}
