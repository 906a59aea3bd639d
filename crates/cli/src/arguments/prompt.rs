//! `foreword prompt`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use protocol::ThreadMode;

use super::InWorkspace;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// Print the exact text
    Show {
        /// Only this section
        #[arg(long, value_name = "ID")]
        section: Option<String>,
        /// Print the request's tools instead, as the model reads them
        #[arg(long, conflicts_with_all = ["section", "turn"])]
        tools: bool,
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// List sections with their sizes, and those of tools and history
    Sections {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Print the prompt's manifest
    Manifest {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Show changes since a turn, with the files and lines that caused them
    Diff(PromptDifference),
}

impl Prompt {
    /// Returns the directory of a prompt without a thread, if it is not the current one.
    pub(crate) fn directory(&self) -> Option<&str> {
        let (thread, cwd) = match self {
            Self::Show { subject, .. } | Self::Sections { subject } | Self::Manifest { subject } => {
                (&subject.thread, &subject.cwd)
            }
            Self::Diff(difference) => (&difference.thread, &difference.cwd),
        };
        cwd.as_deref().filter(|_| thread.is_none())
    }
}

/// Prompt that a command works on.
#[derive(Debug, Args)]
pub(crate) struct PromptSubject {
    /// Thread; without one, prints the prompt of a new thread in a directory, without a gateway
    pub(crate) thread: Option<String>,
    /// Working directory of the turn; with a thread, relative to the workspace's directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// User input, for hooks that look at it
    #[arg(long, value_name = "TEXT", requires = "thread")]
    pub(crate) input: Option<String>,
    /// File with context for the turn, as in `turn start`
    #[arg(long, value_name = "FILE", requires = "thread")]
    pub(crate) context: Option<PathBuf>,
    /// Skill that the turn selects, by slug (repeatable)
    #[arg(long = "skill", value_name = "SLUG", requires = "thread")]
    pub(crate) skills: Vec<String>,
    /// Print the prompt of a new thread, ignoring this thread's session
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// Print the prompt of this past turn, byte for byte
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "input", "context", "skills", "fresh"])]
    pub(crate) turn: Option<String>,
    /// Round of the turn [default: the last one]
    #[arg(long, value_name = "N", requires = "turn")]
    pub(crate) round: Option<u32>,
    /// Mode of the prompt without a thread
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct PromptDifference {
    /// Thread; without one, compares a directory, without a gateway
    pub(crate) thread: Option<String>,
    /// Earlier turn [default: the last one]; without a thread, a file printed by `prompt show --format json`
    #[arg(long, value_name = "TURN|FILE")]
    pub(crate) since: Option<String>,
    /// Later turn [default: the next one]
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "fresh"])]
    pub(crate) until: Option<String>,
    /// Working directory of the next turn
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Compare with the prompt of a new thread instead of the next turn
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// Mode of the prompt without a thread
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
