//! The command line of `foreword guard`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// List the guards that hold in a directory, with the agents that enforce them
    List {
        /// Directory [default: the current one]
        path: Option<PathBuf>,
    },
    /// Test a call against the guards that hold in a directory
    ///
    /// Exits with 1 if the call is denied.
    Test(GuardTest),
}

#[derive(Debug, Args)]
pub(crate) struct GuardTest {
    /// Directory in which the call runs [default: the current one]
    pub(crate) path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) call: TestedCall,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TestedCall {
    /// Line for a shell
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) command: Option<String>,
    /// File to write, relative to the directory
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// File to read, relative to the directory
    #[arg(long, value_name = "FILE")]
    pub(crate) read: Option<PathBuf>,
}

impl GuardCommand {
    /// Returns the directory that the command works on.
    pub(crate) fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::List { path } | Self::Test(GuardTest { path, .. }) => path.as_ref(),
        }
    }
}
