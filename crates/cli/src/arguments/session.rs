//! `foreword resolve` and `foreword session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::flag::FileFlags;

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// File of the session; created at first use
    #[arg(long, value_name = "FILE")]
    pub(crate) session: PathBuf,
    /// Directory in which a new session starts
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Do not record what is printed as delivered
    #[arg(long)]
    pub(crate) peek: bool,
    /// Paths that a tool is about to touch
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Print the state of a session
    Show {
        /// File of the session
        file: PathBuf,
    },
    /// Print the reminder that a resumed session would get
    Diff {
        /// File of the session
        file: PathBuf,
        /// Directory in which it is resumed [default: its own]
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Record the reminder as delivered
        #[arg(long)]
        confirm: bool,
        #[command(flatten)]
        files: FileFlags,
    },
}
