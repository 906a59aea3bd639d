//! The command lines of `foreword hook`, `install`, `sync` and `mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// Agent that runs the hook
    pub(crate) agent: String,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Agent to connect: claude-code, codex, gemini-cli, qwen-code, copilot or opencode
    pub(crate) agent: String,
    /// Whether to change your settings or the project's
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: ScopeName,
    /// Show the change without making it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove what was added
    #[arg(long)]
    pub(crate) undo: bool,
}

/// Settings to change.
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
    /// Also offer a tool that saves documents
    #[arg(long)]
    pub(crate) allow_save: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum McpCommand {
    /// List the MCP servers of turns with their state, number of tools and problems
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// Project, or a directory in it [default: the current directory]
    pub(crate) path: Option<PathBuf>,
    /// Change nothing, and exit with 1 if something would change
    #[arg(long)]
    pub(crate) check: bool,
    /// Show the changes without making them
    #[arg(long, conflicts_with = "check")]
    pub(crate) dry_run: bool,
    /// Undo the changes
    #[arg(long, conflicts_with_all = ["check", "dry_run", "import"])]
    pub(crate) undo: bool,
    /// Write an import line to CLAUDE.md instead of creating a link
    #[arg(long)]
    pub(crate) import: bool,
}
