//! `foreword prompt`.

use clap::{Args, Subcommand};
use protocol::ThreadMode;

use super::InWorkspace;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// Print exactly the text
    Show {
        /// Print only this section
        #[arg(long, value_name = "ID")]
        section: Option<String>,
        /// Print the tools of the request instead, as the model reads them
        #[arg(long, conflicts_with_all = ["section", "turn"])]
        tools: bool,
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// List its sections with their sizes, beside tools, history and the share of the model's window
    Sections {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Print what it consists of, and from which sources
    Manifest {
        #[command(flatten)]
        subject: PromptSubject,
    },
    /// Say what changed since a turn, and which file and line is to blame
    Diff(PromptDifference),
}

impl Prompt {
    /// The directory of a prompt without a thread, if it is not the present one.
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

/// The prompt a command is about.
#[derive(Debug, Args)]
pub(crate) struct PromptSubject {
    /// The thread; without one the prompt is that of a new thread in a directory, and no gateway is needed
    pub(crate) thread: Option<String>,
    /// The directory the turn would work in; with a thread inside the workspace's own and counted from it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// What the user would say, for hooks that look at it
    #[arg(long, value_name = "TEXT", requires = "thread")]
    pub(crate) input: Option<String>,
    /// Leave out what the thread remembers: the prompt of a new thread in its place
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// The prompt of this past turn, byte for byte
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "input", "fresh"])]
    pub(crate) turn: Option<String>,
    /// With --turn: the round; else the last one
    #[arg(long, value_name = "N", requires = "turn")]
    pub(crate) round: Option<u32>,
    /// Without a thread: how it would answer
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}

#[derive(Debug, Args)]
pub(crate) struct PromptDifference {
    /// The thread; without one a directory, and no gateway is needed
    pub(crate) thread: Option<String>,
    /// The earlier turn, else the thread's last one; without a thread a file, as `prompt show --format json` prints it
    #[arg(long, value_name = "TURN|FILE")]
    pub(crate) since: Option<String>,
    /// The later turn, instead of the next one
    #[arg(long, value_name = "TURN", requires = "thread", conflicts_with_all = ["cwd", "fresh"])]
    pub(crate) until: Option<String>,
    /// The directory the next turn would work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Compare with the prompt of a new thread instead of the next turn's
    #[arg(long, requires = "thread")]
    pub(crate) fresh: bool,
    /// Without a thread: how it would answer
    #[arg(long, value_parser = one_of::<ThreadMode>(), default_value = "agent", conflicts_with = "thread")]
    pub(crate) mode: ThreadMode,
    #[command(flatten)]
    pub(crate) scope: InWorkspace,
}
