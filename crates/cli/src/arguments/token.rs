//! `foreword token`.

use clap::Subcommand;
use protocol::Role;

use crate::arguments::expiry::Expiry;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and print its secret, this once
    Create {
        /// What to call it; becomes the author of what is done with it
        name: String,
        /// What it allows: a reader may look, an editor may also change folders, threads and documents, an operator may
        /// also run turns and approve calls, an owner may also change workspaces and tokens
        #[arg(long, value_parser = one_of::<Role>(), default_value = "reader")]
        role: Role,
        /// How long it is valid, such as `30 days`, or until when, such as `2027-01-31T00:00:00Z`; until it is revoked
        /// when absent
        #[arg(long, value_name = "TIME")]
        expires: Option<Expiry>,
        /// The only workspace it may touch, by name or id; all when absent
        #[arg(short, long)]
        workspace: Option<String>,
    },
    /// List the tokens
    List,
    /// Revoke a token
    Revoke {
        /// Its name
        name: String,
    },
}
