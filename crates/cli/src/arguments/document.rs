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
        /// The text of this version
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Print the document that is effective for a folder or thread
    Effective {
        /// The thread, by title, path, id or `last`, instead of a folder
        #[arg(long, conflicts_with = "folder")]
        thread: Option<String>,
        #[command(flatten)]
        scope: InScope,
    },
    /// Save a document from a file or standard input
    Save(DocSave),
    /// Edit a document in $VISUAL or $EDITOR; what somebody else saves meanwhile is merged
    Edit {
        /// What the change is for; shown in the history
        #[arg(short, long, value_name = "TEXT")]
        message: Option<String>,
        /// Continue with what an earlier edit left behind: this file, or the last one of the scope
        #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "last")]
        resume: Option<PathBuf>,
        #[command(flatten)]
        scope: InScope,
    },
    /// List what editors left behind
    Drafts,
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
        /// What it is restored for; shown in the history
        #[arg(short, long, value_name = "TEXT")]
        message: Option<String>,
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

#[derive(Debug, Args)]
pub(crate) struct DocSave {
    /// The file; standard input when absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// Save only if this is still the version; 0: only if there is no document yet
    #[arg(long, value_name = "VERSION")]
    pub(crate) expected_version: Option<u64>,
    /// Replace whatever there is, without asking
    #[arg(long, conflicts_with = "expected_version")]
    pub(crate) force: bool,
    /// Save a text without anything in it
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// What the change is for; shown in the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) scope: InScope,
}
