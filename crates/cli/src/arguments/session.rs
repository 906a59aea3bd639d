//! `foreword resolve` and `foreword session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::flag::FileFlags;

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The file that keeps the session; made at first use
    #[arg(long, value_name = "FILE")]
    pub(crate) session: PathBuf,
    /// Where a new session starts
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Only look: what is printed does not count as delivered
    #[arg(long)]
    pub(crate) peek: bool,
    /// The paths a tool is about to touch
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Print what a session remembers
    Show {
        /// The session's file
        file: PathBuf,
    },
    /// Print what a resumed session would be told: what differs now
    Diff {
        /// The session's file
        file: PathBuf,
        /// Where it is resumed; its own directory when absent
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// Remember that it was told, so that it is not told again
        #[arg(long)]
        confirm: bool,
        #[command(flatten)]
        files: FileFlags,
    },
}
