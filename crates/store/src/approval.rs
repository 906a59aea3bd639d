//! Approvals: tool calls that wait for somebody to decide.

use protocol::{ErrorSubject, Timestamp, TurnId, TurnStatus, WorkspaceId};
use serde_json::Value;

use crate::column::{enum_str, values};
use crate::on::{Columns, On};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, lease, name, turn};

/// The columns that [`read_approval`] reads.
macro_rules! approval_columns {
    () => {
        "turn_id, call_id, request, requested_at, expires_at, allowed, decided_at, decided_by"
    };
}

fn read_approval(mut row: Columns<'_>) -> Result<Approval, StoreError> {
    Ok(Approval {
        turn_id: row.next()?,
        call_id: row.next()?,
        request: row.next()?,
        requested_at: row.next()?,
        expires_at: row.next()?,
        allowed: row.next()?,
        decided_at: row.next()?,
        decided_by: row.next()?,
    })
}

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
        const INSERT: &str =
            "INSERT INTO turn_approval (workspace_id, turn_id, call_id, request, requested_at,
            expires_at) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (turn_id, call_id) DO UPDATE SET request = excluded.request,
                requested_at = excluded.requested_at, expires_at = excluded.expires_at, allowed = NULL,
                decided_at = NULL, decided_by = NULL";
        name::check("call_id", &new.call_id)?;
        let event = TurnEvent::ApprovalRequested { call_id: new.call_id.clone(), tool: new.tool };
        let approval = Approval {
            turn_id: turn_id.clone(),
            call_id: new.call_id,
            request: new.request,
            requested_at: Timestamp::now(),
            expires_at: new.expires_at,
            allowed: None,
            decided_at: None,
            decided_by: None,
        };
        let workspace = workspace_id.clone();
        self.write_turn(workspace_id, turn_id, owner, vec![event], async move |on: &mut On<'_>| {
            let request = approval.request.to_string();
            let values = values![
                &workspace,
                &approval.turn_id,
                &approval.call_id,
                &request,
                approval.requested_at,
                approval.expires_at,
            ];
            on.execute(INSERT, values).await?;
            Ok(approval)
        })
        .await
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
        const PRESENT: &str = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM turn_approval WHERE turn_id = $1 AND call_id = $2"
        );
        const DECIDE: &str = "UPDATE turn_approval SET allowed = $1, decided_at = $2, decided_by = $3
            WHERE turn_id = $4 AND call_id = $5";
        name::check("call_id", call_id)?;
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        let (call_id, actor) = (call_id.to_owned(), actor.map(str::to_owned));
        self.write(async move |on: &mut On<'_>| {
            let turn = lease::lock_turn(on, &workspace_id, &turn_id).await?;
            let present = on.one_by_key(PRESENT, values![&turn_id, &call_id], read_approval).await?;
            let present = present.ok_or_else(|| StoreError::not_found(ErrorSubject::Approval, &call_id))?;
            match present.allowed {
                Some(allowed) if allowed == allow => return Ok(present),
                Some(allowed) => return Err(decided_otherwise(&call_id, allowed)),
                None => {}
            }
            let now = Timestamp::now();
            check_waits(&turn, &present, now)?;
            let values = values![i64::from(allow), now, &actor, &turn_id, &call_id];
            on.execute(DECIDE, values).await?;
            on.wake_everywhere(&workspace_id).await?;
            Ok(Approval { allowed: Some(allow), decided_at: Some(now), decided_by: actor, ..present })
        })
        .await
    }

    /// The approvals of a turn, oldest first.
    pub async fn approvals(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<Approval>, StoreError> {
        const APPROVALS: &str = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM turn_approval WHERE workspace_id = $1 AND turn_id = $2 ORDER BY requested_at, call_id"
        );
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let approvals = on.all(APPROVALS, values![&workspace_id, &turn_id], read_approval).await?;
            if approvals.is_empty() {
                turn::find_or_missing(on, &workspace_id, &turn_id).await?;
            }
            Ok(approvals)
        })
        .await
    }
}

fn check_waits(turn: &turn::Turn, approval: &Approval, now: Timestamp) -> Result<(), StoreError> {
    let Approval { turn_id, call_id, .. } = approval;
    if turn.status != TurnStatus::Running {
        return Err(StoreError::InvalidState(format!(
            "turn `{turn_id}` has ended, so call `{call_id}` waits for nobody: it is {}",
            enum_str(turn.status)
        )));
    }
    if approval.expires_at <= now {
        return Err(StoreError::InvalidState(format!(
            "call `{call_id}` of turn `{turn_id}` no longer waits for approval: its time is over"
        )));
    }
    Ok(())
}

fn decided_otherwise(call_id: &str, allowed: bool) -> StoreError {
    let decision = if allowed { "allowed" } else { "denied" };
    StoreError::InvalidState(format!("call `{call_id}` is {decision} already, and a decision stands"))
}
