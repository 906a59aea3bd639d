//! Whose is it? Every method that names a turn or a thread finds it here, in its workspace and in no other.

use protocol::{ThreadId, Turn, TurnId, WorkspaceId};
use store::TurnPage;

use crate::error::AgentError;
use crate::preparation::Agent;

impl Agent {
    /// A turn that must be one of this thread.
    pub async fn turn_of_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        turn_id: &TurnId,
    ) -> Result<Turn, AgentError> {
        let turn = self.store.turn(workspace_id, turn_id).await?;
        if turn.thread_id == *thread_id {
            Ok(turn)
        } else {
            Err(AgentError::OtherThread { turn_id: turn_id.clone() })
        }
    }

    /// The newest turns of a thread, newest first, without their answers.
    pub async fn turns(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        page: TurnPage,
    ) -> Result<Vec<Turn>, AgentError> {
        Ok(self.store.turns(workspace_id, thread_id, page).await?)
    }

    /// Decides about a call that waits, and says what counts.
    pub async fn approve(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        call_id: &str,
        allow: bool,
        actor: Option<&str>,
    ) -> Result<bool, AgentError> {
        let answered = self.store.answer_approval(workspace_id, turn_id, call_id, allow, actor).await?;
        Ok(answered.decision.is_some_and(|decision| decision.allowed))
    }
}
