//! The daily token limit of a workspace.

use protocol::{Timestamp, WorkspaceId};

use crate::agent::Agent;
use crate::error::AgentError;

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1000;

impl Agent {
    /// Rejects a turn if its workspace has used its daily tokens.
    pub(crate) async fn check_tokens(&self, workspace_id: &WorkspaceId) -> Result<(), AgentError> {
        match self.exhausted_token_limit(workspace_id).await? {
            None => Ok(()),
            Some(limit) => Err(AgentError::TokensSpent { limit }),
        }
    }

    /// Returns the daily limit if the workspace has used it up, counting running turns.
    pub(crate) async fn exhausted_token_limit(
        &self,
        workspace_id: &WorkspaceId,
    ) -> Result<Option<u64>, AgentError> {
        let Some(limit) = self.settings.turns.limits.tokens_per_day else { return Ok(None) };
        // The store's clock, so that all gateways agree on the start of the day.
        let day = self.store.now().milliseconds().div_euclid(DAY_MILLISECONDS) * DAY_MILLISECONDS;
        let usage = self.store.usage_since(workspace_id, Timestamp::from_milliseconds(day)).await?;
        let is_spent = usage.input.saturating_add(usage.output) >= limit.get();
        Ok(is_spent.then_some(limit.get()))
    }
}
