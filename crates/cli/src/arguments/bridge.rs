//! The command line of `foreword hook`, `install`, `sync` and `mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The agent that runs the hook
    pub(crate) agent: String,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The agent to connect: claude-code, codex, gemini-cli, qwen-code, copilot or opencode
    pub(crate) agent: String,
    /// Whose settings are changed: yours, or the project's
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: ScopeName,
    /// Show the change and make none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take out what was added
    #[arg(long)]
    pub(crate) undo: bool,
}

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    User,
    Project,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Offer a tool that saves documents, too
    #[arg(long)]
    pub(crate) allow_save: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum McpCommand {
    /// List the MCP servers whose tools turns have: how each is, how many tools it offers, and what is wrong with them
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// The project, or a directory in it; the present one when absent
    pub(crate) path: Option<PathBuf>,
    /// Change nothing, and exit with 1 when something would be changed
    #[arg(long)]
    pub(crate) check: bool,
    /// Show the changes and make none
    #[arg(long, conflicts_with = "check")]
    pub(crate) dry_run: bool,
    /// Put back what was changed
    #[arg(long, conflicts_with_all = ["check", "dry_run", "import"])]
    pub(crate) undo: bool,
    /// Write an import line into CLAUDE.md instead of making it a link
    #[arg(long)]
    pub(crate) import: bool,
}
