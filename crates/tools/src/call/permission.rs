//! Write permissions and the source of approvals.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::{ApprovalRequest, HowDecided};
use serde::{Deserialize, Serialize};

/// Policy for calls that write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The call does not run.
    Deny,
    /// The call waits for approval.
    #[default]
    Ask,
    /// The call runs.
    Allow,
}

impl Permission {
    /// Returns the name used in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Permissions beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions {
    /// Calls that write files or run commands.
    pub write: Permission,
    /// Calls that write protected files; the stricter of this and `write` applies.
    pub protected: Permission,
    /// Calls that write the files of the model's identity, which all workspaces share; the stricter one applies.
    pub identity: Permission,
}

/// Writes require approval, also for the model's identity, and protected files are read-only.
impl Default for Permissions {
    fn default() -> Self {
        Self { write: Permission::Ask, protected: Permission::Deny, identity: Permission::Ask }
    }
}

/// Decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// The call runs.
    Allow,
    /// The call does not run, for the given reason.
    Deny(HowDecided),
    /// The call does not run, because approval could not be requested.
    Unasked {
        /// Reason for the model.
        reason: String,
    },
}

/// Source of approvals.
pub trait Approvals: Send + Sync + 'static {
    /// Waits for a decision. The future is dropped if time runs out or the call is cancelled.
    fn ask(&self, request: ApprovalRequest) -> impl Future<Output = ApprovalDecision> + Send;
}

/// Denies every request, for turns without a user.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Approvals for DenyAll {
    async fn ask(&self, _: ApprovalRequest) -> ApprovalDecision {
        ApprovalDecision::Deny(HowDecided::Unattended)
    }
}

/// Final check before an approved call runs, however long the approval took.
pub trait RunGate: Send + Sync + 'static {
    /// Returns an error if calls must not run any more.
    fn check(&self) -> BoxFuture<'_, Result<(), GateClosed>>;
}

/// The turn may belong to another gateway by now, so nothing runs any more.
#[derive(Debug, thiserror::Error)]
#[error("the turn may have ended meanwhile: {0}")]
pub struct GateClosed(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Object-safe form of [`Approvals`].
pub(crate) trait AnyApprovals: Send + Sync + 'static {
    fn ask(self: Arc<Self>, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision>;
}

impl<A: Approvals> AnyApprovals for A {
    fn ask(self: Arc<Self>, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        Box::pin(async move { Approvals::ask(&*self, request).await })
    }
}
