//! `foreword memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::{MemoryItemId, MemoryScope, MemoryStatus};

use super::InWorkspace;
use crate::arguments::expiry::Expiry;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// List what is remembered, newest first
    List {
        /// Only what holds there
        #[arg(long, value_parser = one_of::<MemoryScope>())]
        scope: Option<MemoryScope>,
        /// Only what holds in this thread, by title, path, id or `last`
        #[arg(long)]
        thread: Option<String>,
        /// Items of this status
        #[arg(long, value_parser = one_of::<MemoryStatus>(), default_value = "active")]
        status: MemoryStatus,
        /// Most items to list
        #[arg(long, default_value_t = protocol::limits::DEFAULT_HISTORY_LIMIT)]
        limit: u32,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Remember something
    Add(MemoryAdd),
    /// Look for words in what is remembered, best first
    Search {
        /// The words; items that have all of them, or else any of them, are found
        #[arg(required = true)]
        words: Vec<String>,
        /// Only what holds in this thread, by title, path, id or `last`
        #[arg(long)]
        thread: Option<String>,
        /// Most items to list
        #[arg(long, default_value_t = protocol::limits::DEFAULT_MEMORY_SEARCH)]
        limit: u32,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Show one item, with its whole text
    Show {
        /// Its id, as `foreword memory list` shows it
        id: MemoryItemId,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Forget something for good: its text, and every stored text that it was recalled into
    Forget {
        /// Its id, as `foreword memory list` shows it
        id: MemoryItemId,
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Print what is remembered, for `foreword memory import`
    Export {
        #[command(flatten)]
        workspace: InWorkspace,
    },
    /// Remember what was exported; what is remembered already stays as it is
    Import {
        /// The file; standard input when absent or `-`
        file: Option<PathBuf>,
        #[command(flatten)]
        workspace: InWorkspace,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MemoryAdd {
    /// What to remember; `-` reads it from standard input
    pub(crate) text: String,
    /// What kind of thing it is, in a word or a few; a `preference` is recalled in every turn. `fact` when absent, or that of
    /// the item it supersedes
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Where it holds: in the workspace, for you in all workspaces, or in one thread; the workspace when absent
    #[arg(long, value_parser = one_of::<MemoryScope>())]
    pub(crate) scope: Option<MemoryScope>,
    /// The thread that it holds in, by title, path, id or `last`; the scope is `thread` then
    #[arg(long)]
    pub(crate) thread: Option<String>,
    /// How long it holds, such as `30 days`, or until when, such as `2027-01-31T00:00:00Z`; for good when absent
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<Expiry>,
    /// The id of an item whose place it takes
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<MemoryItemId>,
    #[command(flatten)]
    pub(crate) workspace: InWorkspace,
}
