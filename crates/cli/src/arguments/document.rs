//! `foreword doc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::InWorkspace;

/// Scope of a document command.
#[derive(Debug, Clone, Args)]
pub(crate) struct InScope {
    /// Folder, by path (a/b) or id [default: the workspace root]
    #[arg(long)]
    pub(crate) folder: Option<String>,
    #[command(flatten)]
    pub(crate) workspace: InWorkspace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Doc {
    /// Print a scope's own document
    #[command(alias = "show")]
    Get {
        /// Version to print
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Print the document that applies to a folder or thread
    Effective {
        /// Thread instead of a folder, by title, path, id or `last`
        #[arg(long, conflicts_with = "folder")]
        thread: Option<String>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Save a document from a file or standard input
    Save(DocSave),
    /// Edit a document in $VISUAL or $EDITOR, merging concurrent changes
    Edit {
        /// Reason for the change, shown in the history
        #[arg(short, long, value_name = "TEXT")]
        message: Option<String>,
        /// Resume an unfinished edit: this draft, or the scope's last one
        #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "last")]
        resume: Option<PathBuf>,
        #[command(flatten)]
        scope: InScope,
    },
    /// List unsaved drafts
    Drafts,
    /// List the revisions, newest first
    History {
        /// Maximum number of revisions
        #[arg(long, default_value_t = protocol::limits::DEFAULT_HISTORY_LIMIT)]
        limit: u32,
        /// Only versions before this one
        #[arg(long, value_name = "VERSION")]
        before: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Show the changes between two versions
    Diff {
        /// Older version [default: the one before the newer]
        from: Option<u64>,
        /// Newer version [default: the newest]
        to: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Restore an older version's text
    Restore {
        /// Version to restore
        version: u64,
        /// Restore only if this is the current version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        /// Reason for the change, shown in the history
        #[arg(short, long, value_name = "TEXT")]
        message: Option<String>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Archive a document, so that its scope inherits again
    Archive {
        /// Archive only if this is the current version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DocSave {
    /// File to save [default: standard input, like `-`]
    pub(crate) file: Option<PathBuf>,
    /// Save only if this is the current version; 0 if there must be no document
    #[arg(long, value_name = "VERSION")]
    pub(crate) expected_version: Option<u64>,
    /// Overwrite any current version
    #[arg(long, conflicts_with = "expected_version")]
    pub(crate) force: bool,
    /// Allow saving an empty document
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Reason for the change, shown in the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) scope: InScope,
}
