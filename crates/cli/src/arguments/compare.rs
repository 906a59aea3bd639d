//! The command lines of `foreword compare` and `foreword map`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The directory
    pub(crate) path: Option<PathBuf>,
    /// Also say what comes in when a tool reads this file; it need not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) reading: Option<PathBuf>,
    /// Compare only these agents (repeatable); `foreword profile list` names them
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Print Markdown, for an issue or a page
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MapArguments {
    /// The directory
    pub(crate) path: Option<PathBuf>,
    /// The agent; `foreword profile list` names them
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Write a page with the maps of all agents into this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
