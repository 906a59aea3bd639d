//! Asks people about calls, through the store: whoever answers may be connected to another gateway.

use std::time::Duration;

use protocol::{Timestamp, TurnId, WorkspaceId};
use store::{Store, StoreError, Wake};
use tokio::sync::broadcast::error::RecvError;
use tools::{ApprovalRequest, Approvals, Decision};

/// How often an answer is looked for without being woken, for the case that a wake was lost.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The questions of one turn.
pub(crate) struct TurnApprovals {
    pub(crate) store: Store,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) turn_id: TurnId,
    pub(crate) owner: String,
    pub(crate) time: Duration,
}

impl Approvals for TurnApprovals {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        match self.decision(request).await {
            Ok(decision) => decision,
            Err(error) => {
                tracing::warn!(%error, turn = %self.turn_id, "nobody could be asked");
                Decision::Deny {
                    reason: Some("nobody could be asked, because the database failed".to_owned()),
                }
            }
        }
    }
}

impl TurnApprovals {
    async fn decision(&self, request: ApprovalRequest) -> Result<Decision, StoreError> {
        // Before the question is there, so that no answer is missed.
        let mut wakes = self.store.wakes();
        let milliseconds = i64::try_from(self.time.as_millis()).unwrap_or(i64::MAX);
        let expires_at = self.store.now().milliseconds().saturating_add(milliseconds);
        let expires_at = Timestamp::from_milliseconds(expires_at);
        let call_id = request.call_id.clone();
        let (workspace_id, turn_id) = (&self.workspace_id, &self.turn_id);
        self.store.request_approval(workspace_id, turn_id, &self.owner, request, expires_at).await?;
        loop {
            let approvals = self.store.approvals(workspace_id, turn_id).await?;
            let own = approvals.into_iter().find(|approval| approval.request.call_id == call_id);
            match own.and_then(|approval| approval.decision) {
                Some(decision) if decision.allowed => return Ok(Decision::Allow),
                Some(_) => return Ok(Decision::Deny { reason: None }),
                None => {}
            }
            let woken = async {
                loop {
                    match wakes.recv().await {
                        Ok(Wake::Workspace(workspace_id)) if workspace_id != self.workspace_id => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => return,
                        // The store is being closed, and the turn with it.
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            };
            let _ = tokio::time::timeout(LOOK_EVERY, woken).await;
        }
    }
}
