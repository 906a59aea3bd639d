//! The command line of `foreword profile`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the agents whose rules are known, and how well
    List,
    /// Print an agent's rules, and how each of them is known
    Show {
        /// The profile
        name: String,
    },
}
