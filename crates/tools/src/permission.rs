//! Who may write, and who is asked.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{ApprovalRequest, HowDecided};
use serde::{Deserialize, Serialize};

/// What happens to a call that writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It does not run.
    Deny,
    /// Somebody is asked.
    #[default]
    Ask,
    /// It runs.
    Allow,
}

impl Permission {
    /// What it is called in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// What tools may do beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions {
    /// Calls that write files or run commands.
    pub write: Permission,
    /// Calls that write protected files; the stricter of the two counts.
    pub protected: Permission,
    /// Calls that write the files of the model's identity, which every workspace shares; the stricter counts.
    pub identity: Permission,
}

/// Writes ask, also those of the model's identity, and protected files are read-only.
impl Default for Permissions {
    fn default() -> Self {
        Self { write: Permission::Ask, protected: Permission::Deny, identity: Permission::Ask }
    }
}

/// What somebody decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call runs.
    Allow,
    /// The call does not run, and how that came about.
    Deny(HowDecided),
    /// The call does not run, because nobody could be asked.
    Unasked {
        /// Why, for the model.
        reason: String,
    },
}

/// Somebody who can be asked.
pub trait Approvals: Send + Sync + 'static {
    /// Waits for a decision. The future is dropped when the decision comes too late or the call is cancelled.
    fn ask(&self, request: ApprovalRequest) -> impl Future<Output = Decision> + Send;
}

/// Nobody is there, so nothing that asks is allowed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approvals for Nobody {
    async fn ask(&self, _: ApprovalRequest) -> Decision {
        Decision::Deny(HowDecided::Unattended)
    }
}

/// Is asked before every call that was allowed, however long that took.
pub trait RunGate: Send + Sync + 'static {
    /// Whether calls may still run.
    fn check(&self) -> BoxFuture<'_, Result<(), GateClosed>>;
}

/// Nothing runs any more: the turn may be another's by now.
#[derive(Debug, thiserror::Error)]
#[error("the turn may have ended meanwhile: {0}")]
pub struct GateClosed(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// [`Approvals`] in a form that can be kept.
pub(crate) trait AnyApprovals: Send + Sync + 'static {
    fn ask(self: Arc<Self>, request: ApprovalRequest) -> BoxFuture<'static, Decision>;
}

impl<A: Approvals> AnyApprovals for A {
    fn ask(self: Arc<Self>, request: ApprovalRequest) -> BoxFuture<'static, Decision> {
        Box::pin(async move { Approvals::ask(&*self, request).await })
    }
}
