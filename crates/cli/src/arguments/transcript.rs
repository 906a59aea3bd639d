//! The command lines of `foreword why` and `foreword transcript`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::expiry::Since;

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// Text of the rule, or FILE:LINE
    pub(crate) rule: String,
    /// Directory in the project
    pub(crate) path: Option<PathBuf>,
    /// Judge only sessions of these agents (repeatable)
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Session to judge: an id or its beginning, `last`, or `all` [default: the newest one of each agent]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Words of the violation, in a tool call or an answer; `/PATTERN/` is a regular expression [default: the end of the session]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) when: Option<String>,
    /// Judge only sessions since then, as an age such as `7 days` or a time such as `2027-01-31T00:00:00Z`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Since>,
    /// Leave out titles, directories and everything from messages, for a report
    #[arg(long)]
    pub(crate) redact: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Transcript {
    /// List the sessions that agents left on this machine, newest first
    ///
    /// Exits with 1 if there are none.
    List {
        /// Directory in the project; `/` lists the sessions of all projects
        path: Option<PathBuf>,
        /// List only sessions of these agents (repeatable)
        #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
        agents: Vec<String>,
    },
    /// Print the timeline of a session
    Show {
        /// Id of the session, or its beginning
        id: String,
    },
}
