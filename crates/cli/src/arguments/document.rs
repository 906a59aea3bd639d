//! `foreword doc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::InWorkspace;

/// The scope a document command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct InScope {
    /// The folder, by path (a/b) or id; the workspace root when absent
    #[arg(long)]
    pub(crate) folder: Option<String>,
    #[command(flatten)]
    pub(crate) workspace: InWorkspace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Doc {
    /// Print a scope's own document
    Get {
        #[command(flatten)]
        scope: InScope,
    },
    /// Print the document that is effective for a folder or thread
    Effective {
        /// The thread, by id, instead of a folder
        #[arg(long, conflicts_with = "folder")]
        thread: Option<String>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Save a document from a file or standard input
    Save {
        /// The file; standard input when absent or `-`
        file: Option<PathBuf>,
        /// Save only if this is still the version; 0: only if there is no document yet
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Edit a document in $VISUAL or $EDITOR
    Edit {
        #[command(flatten)]
        scope: InScope,
    },
    /// List the revisions, newest first
    History {
        /// Most revisions to list
        #[arg(long, default_value_t = protocol::limits::DEFAULT_HISTORY_LIMIT)]
        limit: u32,
        /// Only versions below this one
        #[arg(long, value_name = "VERSION")]
        before: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Show what changed between two versions
    Diff {
        /// The older version; the one before the newer when absent
        from: Option<u64>,
        /// The newer version; the newest when absent
        to: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Make an older version's text current again
    Restore {
        /// The version
        version: u64,
        /// Restore only if this is still the current version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Take a document away; its scope inherits again
    Archive {
        /// Archive only if this is still the version
        #[arg(long, value_name = "VERSION")]
        expected_version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
}
