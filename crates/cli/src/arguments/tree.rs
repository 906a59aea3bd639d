//! `foreword workspace`, `folder` and `thread`.

use std::path::PathBuf;

use clap::Subcommand;
use protocol::ThreadMode;

use super::InWorkspace;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// Make a workspace and print its id
    Create {
        /// What to call it
        name: String,
        /// The directory its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// List the workspaces
    List {
        /// Those that are archived
        #[arg(long)]
        archived: bool,
    },
    /// Show one workspace
    #[command(alias = "show")]
    Get {
        /// Name or id; not needed when there is only one
        workspace: Option<String>,
    },
    /// Change a workspace's name or directory
    Update {
        /// Name or id
        workspace: String,
        /// The new name
        #[arg(long)]
        name: Option<String>,
        /// The directory its threads work in
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Hide a workspace and free its name; nothing in it is lost
    Archive {
        /// Name or id
        workspace: String,
    },
    /// Bring an archived workspace back
    Restore {
        /// Name or id
        workspace: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Folder {
    /// Make a folder and print its id
    Create {
        /// What to call it
        name: String,
        /// The folder to make it in, by path (a/b) or id; the root when absent
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
    /// Show one folder
    #[command(alias = "show")]
    Get {
        /// Path (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Give a folder another name
    Rename {
        /// Path (a/b) or id
        folder: String,
        /// The new name
        name: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a folder into another one, or to the root
    Move {
        /// Path (a/b) or id
        folder: String,
        /// The folder to move it into; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Delete a folder; what it holds moves to its parent, its document is archived
    Delete {
        /// Path (a/b) or id
        folder: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// List deleted folders, the last one first
    Deleted {
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Bring a deleted folder back, with the document it had
    Restore {
        /// Path it had (a/b) or id
        folder: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Thread {
    /// Make a thread and print its id
    Create {
        /// What to call it
        title: String,
        /// The folder to make it in, by path (a/b) or id; the root when absent
        #[arg(long)]
        folder: Option<String>,
        /// How it answers: chat without tools, agent with them
        #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "chat")]
        mode: ThreadMode,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Draw the tree: folders, threads and documents
    #[command(alias = "list")]
    Tree {
        /// Only what is below this folder, by path or id
        folder: Option<String>,
        /// How many levels of folders to draw
        #[arg(long)]
        depth: Option<u32>,
        /// At most this many threads of each folder
        #[arg(long)]
        threads: Option<u32>,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show one thread
    #[command(alias = "show")]
    Get {
        /// The thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Give a thread another title
    Rename {
        /// The thread, by title, path, id or `last`
        thread: String,
        /// The new title
        title: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Move a thread into a folder, or to the root
    Move {
        /// The thread, by title, path, id or `last`
        thread: String,
        /// The folder to move it into; `/` is the root
        to: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Take a thread out of the tree
    Archive {
        /// The thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Print the conversation: every turn's question and answer, oldest first
    History {
        /// The thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Print what a thread remembers of its instruction files; `foreword session` is about session files
    Session {
        /// The thread, by title, path, id or `last`
        thread: String,
        #[command(flatten)]
        scope: InWorkspace,
    },
}
