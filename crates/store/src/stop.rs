//! Stops: a turn is asked to end, and whoever runs it hears of that.

use protocol::{Timestamp, Turn, TurnId, TurnStatus, WorkspaceId};

use crate::column::values;
use crate::on::On;
use crate::{Store, StoreError, lease};

impl Store {
    /// Asks a running turn to stop, whoever runs it, and wakes the workspace; a turn that has ended is left alone.
    ///
    /// The first request counts. The turn ends when its owner has heard of it.
    pub async fn request_stop(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        actor: Option<&str>,
    ) -> Result<Turn, StoreError> {
        let (workspace_id, id) = (workspace_id.clone(), turn_id.clone());
        let (turn, is_news) = self
            .write(async move |on: &mut On<'_>| {
                let (turn, hold) = lease::lock_turn(on, &workspace_id, &id).await?;
                if hold.status != TurnStatus::Running || hold.stop_requested_at.is_some() {
                    return Ok((turn, false));
                }
                let stop = "UPDATE turn SET stop_requested_at = $1 WHERE id = $2";
                on.execute(stop, values![Timestamp::now(), &id]).await?;
                on.wake_everywhere(&workspace_id).await?;
                Ok((turn, true))
            })
            .await?;
        if is_news {
            tracing::info!(turn = %turn_id, actor, "a turn was asked to stop");
        }
        Ok(turn)
    }
}
