//! Approvals: tool calls that wait for somebody to decide.

use protocol::{Timestamp, TurnId, TurnStatus, WorkspaceId};
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder};
use serde_json::Value;

use crate::entity::{self, turn_approval as row};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, name};

/// A tool call that waits for somebody to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What the call would do.
    pub request: Value,
    /// Until when it can be decided.
    pub expires_at: Timestamp,
}

/// An approval as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub call_id: String,
    /// What the call would do.
    pub request: Value,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// Until when it can be decided.
    pub expires_at: Timestamp,
    /// What was decided.
    pub allowed: Option<bool>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<String>,
}

impl Store {
    /// Asks for the approval of a call in a turn that `owner` runs; of one call only the last request counts.
    pub async fn request_approval(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        new: NewApproval,
    ) -> Result<Approval, StoreError> {
        name::check("call_id", &new.call_id)?;
        let event = TurnEvent::ApprovalRequested { call_id: new.call_id.clone(), tool: new.tool };
        let write = self.write_turn(workspace_id, turn_id, owner, vec![event]).await?;
        let approval = row::Model {
            workspace_id: workspace_id.to_string(),
            turn_id: turn_id.to_string(),
            call_id: new.call_id,
            request: new.request.to_string(),
            requested_at: Timestamp::now().milliseconds(),
            expires_at: new.expires_at.milliseconds(),
            allowed: None,
            decided_at: None,
            decided_by: None,
        };
        let replace = OnConflict::columns([row::Column::TurnId, row::Column::CallId])
            .update_columns([
                row::Column::Request,
                row::Column::RequestedAt,
                row::Column::ExpiresAt,
                row::Column::Allowed,
                row::Column::DecidedAt,
                row::Column::DecidedBy,
            ])
            .to_owned();
        row::Entity::insert(approval.clone().into_active_model())
            .on_conflict(replace)
            .exec_without_returning(write.transaction())
            .await?;
        write.commit().await?;
        approval.try_into()
    }

    /// Decides, whoever runs the turn, and wakes the workspace; deciding the same again changes nothing.
    pub async fn answer_approval(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        call_id: &str,
        allow: bool,
        actor: Option<&str>,
    ) -> Result<Approval, StoreError> {
        name::check("call_id", call_id)?;
        let transaction = self.begin_write().await?;
        let turn = self.locked_turn(&transaction, workspace_id, turn_id).await?;
        let key = (turn_id.to_string(), call_id.to_owned());
        let present = row::Entity::find_by_id(key)
            .one(&transaction)
            .await?
            .ok_or_else(|| StoreError::not_found("approval", call_id))?;
        let now = Timestamp::now().milliseconds();
        match present.allowed {
            Some(allowed) if (allowed != 0) == allow => return present.try_into(),
            Some(allowed) => return Err(decided_otherwise(call_id, allowed != 0)),
            None => {}
        }
        if entity::word::<TurnStatus>(&turn.status)? != TurnStatus::Running {
            return Err(StoreError::InvalidState(format!(
                "turn `{turn_id}` has ended, so call `{call_id}` waits for nobody: it is {}",
                turn.status
            )));
        }
        if present.expires_at <= now {
            return Err(StoreError::InvalidState(format!(
                "call `{call_id}` of turn `{turn_id}` no longer waits for approval: its time is over"
            )));
        }
        let decided = row::Model {
            allowed: Some(i64::from(allow)),
            decided_at: Some(now),
            decided_by: actor.map(str::to_owned),
            ..present
        };
        row::Entity::update_many()
            .col_expr(row::Column::Allowed, Expr::value(decided.allowed))
            .col_expr(row::Column::DecidedAt, Expr::value(decided.decided_at))
            .col_expr(row::Column::DecidedBy, Expr::value(decided.decided_by.clone()))
            .filter(row::Column::TurnId.eq(turn_id.as_str()))
            .filter(row::Column::CallId.eq(call_id))
            .exec(&transaction)
            .await?;
        self.commit_and_wake(transaction, workspace_id).await?;
        decided.try_into()
    }

    /// The approvals of a turn, oldest first.
    pub async fn approvals(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<Approval>, StoreError> {
        let rows = row::Entity::find()
            .filter(row::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(row::Column::TurnId.eq(turn_id.as_str()))
            .order_by_asc(row::Column::RequestedAt)
            .order_by_asc(row::Column::CallId)
            .all(self.readers())
            .await?;
        if rows.is_empty() {
            self.turn(workspace_id, turn_id).await?;
        }
        rows.into_iter().map(Approval::try_from).collect()
    }
}

fn decided_otherwise(call_id: &str, allowed: bool) -> StoreError {
    let decision = if allowed { "allowed" } else { "denied" };
    StoreError::InvalidState(format!("call `{call_id}` is {decision} already, and a decision stands"))
}
