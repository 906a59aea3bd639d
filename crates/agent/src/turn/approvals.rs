//! Approval requests, answered through the store: the person who decides may be connected to another gateway.

use std::sync::Arc;
use std::time::Duration;

use protocol::{HowDecided, Timestamp, TurnApproval, TurnId, WorkspaceId};
use store::{Store, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tools::{ApprovalDecision, ApprovalRequest, Approvals};

use crate::statistics::Statistics;

/// Interval for polling an answer, in case a wake was lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The approval requests of one turn.
pub(crate) struct TurnApprovals {
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) store: Store,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) turn_id: TurnId,
    pub(crate) owner: String,
    pub(crate) time: Duration,
}

impl Approvals for TurnApprovals {
    async fn ask(&self, request: ApprovalRequest) -> ApprovalDecision {
        match self.decision(request).await {
            Ok(decision) => {
                self.statistics.approval_decided(match &decision {
                    ApprovalDecision::Allow => "allowed",
                    ApprovalDecision::Deny(HowDecided::Expired) => "expired",
                    ApprovalDecision::Deny(_) => "denied",
                    ApprovalDecision::Unasked { .. } => "unasked",
                });
                decision
            }
            Err(error) => {
                tracing::warn!(%error, turn = %self.turn_id, "could not request approval");
                ApprovalDecision::Unasked { reason: "could not request approval: database error".to_owned() }
            }
        }
    }
}

impl TurnApprovals {
    async fn decision(&self, request: ApprovalRequest) -> Result<ApprovalDecision, StoreError> {
        // Subscribe before the request is visible, so that no answer is missed.
        let mut wakes = self.store.wakes();
        let milliseconds = i64::try_from(self.time.as_millis()).unwrap_or(i64::MAX);
        let expires_at = self.store.now().milliseconds().saturating_add(milliseconds);
        let expires_at = Timestamp::from_milliseconds(expires_at);
        let call_id = request.call_id.clone();
        let workspace_id = &self.workspace_id;
        let turn_id = &self.turn_id;
        self.store.request_approval(workspace_id, turn_id, &self.owner, request, expires_at).await?;
        let deadline = tokio::time::Instant::now() + self.time;
        loop {
            match self.look(&call_id).await {
                Ok(Some(decision)) => return Ok(decision),
                // Let the store decide between expiry and an answer that arrives at this very moment. If the answer
                // was first, it counts.
                // By either clock: after a jump of the machine's clock, nobody could decide any more, and waiting for the rest of
                // the time would only block the turn.
                Ok(None) if tokio::time::Instant::now() >= deadline || self.store.now() >= expires_at => {
                    let expired = self.store.expire_approval(workspace_id, turn_id, &self.owner, &call_id);
                    match expired.await {
                        Ok(approval) => return Ok(decided(&approval).unwrap_or(EXPIRED)),
                        Err(error) if is_transient(&error) => return Ok(EXPIRED),
                        Err(error) => return Err(error),
                    }
                }
                Ok(None) => {}
                // The request is visible and a person may be reading it. A failing database must not turn into a
                // denial before the approval time is over.
                Err(error) if is_transient(&error) && tokio::time::Instant::now() < deadline => {
                    tracing::warn!(%error, turn = %self.turn_id, "failed to look up an approval");
                }
                Err(error) if is_transient(&error) => return Ok(EXPIRED),
                Err(error) => return Err(error),
            }
            // Wakes of other workspaces are frequent on a busy gateway, and must not cost a query each.
            let woken = async {
                loop {
                    match wakes.recv().await {
                        Ok(wake) if wake.workspace_id().is_some_and(|id| *id != self.workspace_id) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => return,
                        // The store is closing, and the turn ends with it.
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            };
            // Poll from time to time even without a wake: a notification can be lost with its database connection.
            let next = deadline.min(tokio::time::Instant::now() + CHECK_INTERVAL);
            let _ = tokio::time::timeout_at(next, woken).await;
        }
    }

    /// Returns the decision about a call, if there is one.
    async fn look(&self, call_id: &str) -> Result<Option<ApprovalDecision>, StoreError> {
        let approvals = self.store.approvals(&self.workspace_id, &self.turn_id).await?;
        Ok(approvals.iter().find(|approval| approval.request.call_id == call_id).and_then(decided))
    }
}

/// The decision about a request that expired.
const EXPIRED: ApprovalDecision = ApprovalDecision::Deny(HowDecided::Expired);

fn decided(approval: &TurnApproval) -> Option<ApprovalDecision> {
    let decision = approval.decision.as_ref()?;
    Some(if decision.allowed { ApprovalDecision::Allow } else { ApprovalDecision::Deny(decision.how) })
}

/// Returns true if the store may respond later.
fn is_transient(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::DiskFull)
}
