//! `foreword turn`.

use clap::{Args, Subcommand};

use super::InWorkspace;

#[derive(Debug, Subcommand)]
pub(crate) enum Turn {
    /// Ask a model, and print its answer as it comes
    Start(TurnStart),
    /// List the turns of a thread, newest first
    List {
        /// The thread, by title, path, id or `last`
        thread: String,
        /// Most turns to list
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        #[command(flatten)]
        scope: InWorkspace,
    },
    /// Show what was said and done in a turn, and what waits for a decision
    #[command(alias = "get")]
    Show {
        #[command(flatten)]
        named: NamedTurn,
        /// Print calls, results and reminders whole, not their beginnings
        #[arg(long)]
        full: bool,
    },
    /// Say what made a turn's prompt: sections, sources, files, hooks, tools and history
    Explain(NamedTurn),
    /// Follow a running turn from another terminal; Ctrl-C leaves, and the turn goes on
    Watch(NamedTurn),
    /// Stop a turn
    Cancel(NamedTurn),
    /// Let a tool do what it waits to be allowed to
    Approve {
        #[command(flatten)]
        named: NamedTurn,
        /// The call, as `turn show` names it
        call: String,
        /// Refuse it instead
        #[arg(long)]
        deny: bool,
        /// Decide only if this is still what would run, as `turn show` and `turn start --wait` print it
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
    },
}

/// The turn a command is about.
#[derive(Debug, Args)]
pub(crate) struct NamedTurn {
    /// The turn: its number, `last`, its id or the beginning of it
    pub(crate) turn: String,
    /// The thread that a number counts in, by title, path or id; the one whose turn ran last when absent
    #[arg(long)]
    pub(crate) thread: Option<String>,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct TurnStart {
    /// The thread, by title, path, id or `last`
    pub(crate) thread: String,
    /// What to ask; standard input when absent or `-`
    pub(crate) text: Option<String>,
    /// The directory to work in, inside the workspace's own and counted from it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// The model to ask, instead of model.default of the gateway
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// A skill to use in this turn, by its slug; may be repeated
    #[arg(long = "skill", value_name = "SLUG")]
    pub(crate) skills: Vec<String>,
    /// An MCP server whose tools are there from the beginning, by its name; may be repeated
    #[arg(long, value_name = "SERVER")]
    pub(crate) mcp: Vec<String>,
    /// Allow every call that asks, without showing it first
    #[arg(long, conflicts_with = "deny_writes")]
    pub(crate) allow_writes: bool,
    /// Refuse every call that asks
    #[arg(long)]
    pub(crate) deny_writes: bool,
    /// Let calls that ask wait for `foreword turn approve`; without a terminal they are denied otherwise
    #[arg(long, conflicts_with_all = ["allow_writes", "deny_writes"])]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
