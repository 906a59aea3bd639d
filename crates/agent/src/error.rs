//! What can go wrong before a model is asked.

use std::path::PathBuf;

use hooks::HookError;
use instructions::ResolveError;
use prompt::RebuildError;
use store::StoreError;

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A hook that must not fail did.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// Instruction files cannot be resolved.
    #[error(transparent)]
    Files(#[from] ResolveError),
    /// The directory is not inside the workspace's.
    #[error("{} is not inside the workspace's directory {}", cwd.display(), root.display())]
    OutsideWorkspace {
        /// The directory.
        cwd: PathBuf,
        /// The workspace's.
        root: PathBuf,
    },
    /// The project root that the workspace asks for is not inside its directory.
    #[error(
        "the workspace's `projectRootOverride` {} is not inside its directory {}",
        wanted.display(), root.display()
    )]
    RootOutsideWorkspace {
        /// The project root that is asked for.
        wanted: PathBuf,
        /// The workspace's directory.
        root: PathBuf,
    },
    /// A directory was named, but the workspace has none.
    #[error("the workspace has no directory, so `cwd` cannot be inside it")]
    NoDirectory,
    /// A directory cannot be used.
    #[error("cannot work in {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What is stored cannot be understood.
    #[error("the stored {what} cannot be read: {message}")]
    Stored {
        /// What.
        what: &'static str,
        /// Why.
        message: String,
    },
    /// There is nothing to compare or rebuild.
    #[error("turn `{turn_id}` has no manifest{}", round.map_or_else(String::new, |round| format!(" of round {round}")))]
    NoManifest {
        /// The turn.
        turn_id: String,
        /// The round, if one was named.
        round: Option<u32>,
    },
    /// A past prompt cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}
