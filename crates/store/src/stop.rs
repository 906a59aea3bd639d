//! Stops: a turn is asked to end, and whoever runs it hears of that.

use protocol::{Timestamp, TurnId, TurnStatus, WorkspaceId};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use crate::entity::turn as row;
use crate::{Store, StoreError, Turn};

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
        let transaction = self.begin_write().await?;
        let present = Turn::try_from(self.locked_turn(&transaction, workspace_id, turn_id).await?)?;
        if present.status != TurnStatus::Running || present.stop_requested_at.is_some() {
            return Ok(present);
        }
        let now = Timestamp::now();
        row::Entity::update_many()
            .col_expr(row::Column::StopRequestedAt, Expr::value(now.milliseconds()))
            .filter(row::Column::Id.eq(turn_id.as_str()))
            .exec(&transaction)
            .await?;
        self.commit_and_wake(transaction, workspace_id).await?;
        tracing::info!(turn = %turn_id, actor, "a turn was asked to stop");
        Ok(Turn { stop_requested_at: Some(now), ..present })
    }
}
