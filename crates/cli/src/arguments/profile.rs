//! The command line of `foreword profile`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List supported agents and how well their rules are verified
    List,
    /// Print an agent's rules with their evidence
    Show {
        /// Name of the profile
        name: String,
    },
}
