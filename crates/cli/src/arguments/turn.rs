//! `foreword turn`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::InWorkspace;

#[derive(Debug, Subcommand)]
pub(crate) enum Turn {
    /// Ask a model and stream its answer
    Start(TurnStart),
    /// List the turns of a thread, newest first
    List {
        /// Thread, by title, path, id or `last`
        thread: String,
        /// Maximum number of turns
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show a turn's conversation, calls and pending approvals
    #[command(alias = "get")]
    Show {
        #[command(flatten)]
        named: NamedTurn,
        /// Print calls, results and reminders in full
        #[arg(long)]
        full: bool,
    },
    /// Explain a turn's prompt: sections, sources, files, hooks, tools and history
    Explain(NamedTurn),
    /// Print the body of a request to the provider, byte for byte as it was sent
    Request {
        #[command(flatten)]
        named: NamedTurn,
        /// Round of the turn [default: the last one]
        #[arg(long, value_name = "N")]
        round: Option<u32>,
    },
    /// Follow a running turn; Ctrl-C leaves without stopping it
    Watch(NamedTurn),
    /// Stop a turn
    Cancel(NamedTurn),
    /// Approve a pending tool call
    Approve {
        #[command(flatten)]
        named: NamedTurn,
        /// Call, as printed by `turn show`
        call: String,
        /// Deny the call instead
        #[arg(long)]
        deny: bool,
        /// Decide only if the call still has this digest, as printed by `turn show` and `turn start --wait`
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
    },
}

/// Turn that a command works on.
#[derive(Debug, Args)]
pub(crate) struct NamedTurn {
    /// Turn, by number, `last`, id or the start of an id
    pub(crate) turn: String,
    /// Thread of a turn number, by title, path or id [default: the thread with the latest turn]
    #[arg(long)]
    pub(crate) thread: Option<String>,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct TurnStart {
    /// Thread, by title, path, id or `last`
    pub(crate) thread: String,
    /// Input for the model [default: standard input, like `-`]
    pub(crate) text: Option<String>,
    /// Working directory, relative to and inside the workspace's directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Model to ask instead of the gateway's model.default
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Skill to use in this turn, by slug (repeatable)
    #[arg(long = "skill", value_name = "SLUG")]
    pub(crate) skills: Vec<String>,
    /// File with context for this turn, which the model gets as data (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// MCP server whose tools are available from the start, by name (repeatable)
    #[arg(long, value_name = "SERVER")]
    pub(crate) mcp: Vec<String>,
    /// Approve every pending call without showing it
    #[arg(long, conflicts_with = "deny_writes")]
    pub(crate) allow_writes: bool,
    /// Deny every pending call
    #[arg(long)]
    pub(crate) deny_writes: bool,
    /// Let pending calls wait for `foreword turn approve`; otherwise they are denied without a terminal
    #[arg(long, conflicts_with_all = ["allow_writes", "deny_writes"])]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
