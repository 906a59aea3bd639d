//! The command lines of `foreword compare` and `foreword map`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Directory to compare
    pub(crate) path: Option<PathBuf>,
    /// Include what is loaded when a tool reads this file, which need not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) reading: Option<PathBuf>,
    /// Compare only these agents (repeatable), as listed by `foreword profile list`
    #[arg(long = "agent", alias = "profile", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MapArguments {
    /// Root of the tree
    pub(crate) path: Option<PathBuf>,
    /// Agent, as listed by `foreword profile list` [default: the first with traces here, or else codex]
    #[arg(long, alias = "profile", value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Show the tree as it is in this commit, without a checkout
    #[arg(long, value_name = "REV")]
    pub(crate) rev: Option<String>,
    /// Also write a page with the maps of all agents to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
