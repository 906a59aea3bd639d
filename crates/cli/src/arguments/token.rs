//! `foreword token`.

use clap::Subcommand;
use protocol::Role;

use crate::arguments::expiry::Expiry;
use crate::enum_names::one_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token and print its secret once
    Create {
        /// Name, also recorded as the author of changes made with the token
        name: String,
        /// Role: a reader may read, an editor may also change folders, threads and documents, an operator may also run turns
        /// and approve calls, an owner may also manage workspaces and tokens
        #[arg(long, value_parser = one_of::<Role>(), default_value = "reader")]
        role: Role,
        /// Validity, as a duration such as `30 days` or a time such as `2027-01-31T00:00:00Z` [default: until revoked]
        #[arg(long, value_name = "TIME")]
        expires: Option<Expiry>,
        /// Restrict the token to one workspace, by name or id
        #[arg(short, long)]
        workspace: Option<String>,
    },
    /// List the tokens
    List,
    /// Revoke a token
    Revoke {
        /// Name of the token
        name: String,
        /// Also revoke the last valid owner, after which a new one takes a restart of the gateway
        #[arg(short, long)]
        yes: bool,
    },
}
