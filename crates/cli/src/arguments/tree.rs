//! `foreword workspace`, `folder` and `thread`.

use std::path::PathBuf;

use clap::Subcommand;
use protocol::ThreadMode;

use super::InWorkspace;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// Create a workspace and print its id
    Create {
        /// Name of the workspace
        name: String,
        /// Directory that its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// List the workspaces
    List {
        /// List archived workspaces
        #[arg(long)]
        archived: bool,
    },
    /// Show a workspace
    #[command(alias = "show")]
    Get {
        /// Name or id [default: the only workspace]
        workspace: Option<String>,
    },
    /// Change a workspace's name or directory
    Update {
        /// Name or id
        workspace: String,
        /// The new name
        #[arg(long)]
        name: Option<String>,
        /// Directory that its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Archive a workspace, keeping its content and freeing its name
    Archive {
        /// Name or id
        workspace: String,
    },
    /// Restore an archived workspace
    Restore {
        /// Name or id
        workspace: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Folder {
    /// Create a folder and print its id
    Create {
        /// Name of the folder
        name: String,
        /// Parent folder, by path (a/b) or id [default: the root]
        #[arg(long, value_name = "FOLDER")]
        parent: Option<String>,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// List the folders with their paths
    List {
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show a folder
    #[command(alias = "show")]
    Get {
        /// Path (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Rename a folder
    Rename {
        /// Path (a/b) or id
        folder: String,
        /// The new name
        name: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a folder into another folder or to the root
    Move {
        /// Path (a/b) or id
        folder: String,
        /// Target folder; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Delete a folder, moving its content to the parent and archiving its document
    Delete {
        /// Path (a/b) or id
        folder: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// List deleted folders, most recently deleted first
    Deleted {
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Restore a deleted folder with its document
    Restore {
        /// Former path (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Thread {
    /// Create a thread and print its id
    Create {
        /// Title of the thread
        title: String,
        /// Folder, by path (a/b) or id [default: the root]
        #[arg(long)]
        folder: Option<String>,
        /// Mode: chat without tools, agent with tools
        #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "chat")]
        mode: ThreadMode,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Draw the tree of folders, threads and documents
    #[command(alias = "list")]
    Tree {
        /// Only this folder, by path or id
        folder: Option<String>,
        /// Maximum depth of folders
        #[arg(long)]
        depth: Option<u32>,
        /// Maximum number of threads per folder
        #[arg(long)]
        threads: Option<u32>,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show a thread
    #[command(alias = "show")]
    Get {
        /// Thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Rename a thread
    Rename {
        /// Thread, by title, path, id or `last`
        thread: String,
        /// The new title
        title: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a thread into a folder or to the root
    Move {
        /// Thread, by title, path, id or `last`
        thread: String,
        /// Target folder; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Archive a thread
    Archive {
        /// Thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Print the conversation, oldest turn first
    History {
        /// Thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Print the state of a thread's instruction session
    Session {
        /// Thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}
