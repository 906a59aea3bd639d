//! Access checks: every method that names a turn or a thread looks it up in its own workspace.

use futures_util::future::BoxFuture;
use protocol::{ThreadId, Turn, TurnId, WorkspaceId};
use store::ApprovalAnswer;

use crate::agent::Agent;
use crate::error::AgentError;

impl Agent {
    /// Returns a turn, or an error if it belongs to another thread.
    pub fn turn_of_thread<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Turn, AgentError>> {
        Box::pin(async move {
            let turn = self.store.turn(workspace_id, turn_id).await?;
            if turn.thread_id == *thread_id {
                Ok(turn)
            } else {
                Err(AgentError::OtherThread { turn_id: turn_id.clone() })
            }
        })
    }

    /// Returns the newest turns of a thread, newest first, without their answers.
    pub fn turns<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        limit: u64,
        before: Option<u64>,
    ) -> BoxFuture<'a, Result<Vec<Turn>, AgentError>> {
        Box::pin(async move { Ok(self.store.turns(workspace_id, thread_id, limit, before).await?) })
    }

    /// Returns true if a pending call would change the model's identity, which all workspaces share.
    pub fn asks_about_identity<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        call_id: &'a str,
    ) -> BoxFuture<'a, Result<bool, AgentError>> {
        Box::pin(async move {
            let approvals = self.store.approvals(workspace_id, turn_id).await?;
            Ok(approvals.iter().any(|it| it.request.call_id == call_id && it.request.identity))
        })
    }

    /// Approves or denies a pending call and returns the decision that counts.
    pub fn approve<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        call_id: &'a str,
        answer: ApprovalAnswer,
    ) -> BoxFuture<'a, Result<bool, AgentError>> {
        Box::pin(async move {
            let answered = self.store.answer_approval(workspace_id, turn_id, call_id, answer).await?;
            Ok(answered.decision.is_some_and(|decision| decision.allowed))
        })
    }
}
