//! Approvals: tool calls that wait for a decision.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    ApprovalDecision, ApprovalRequest, AuditEvent, ContentHash, ErrorSubject, GATEWAY_ACTOR, HowDecided,
    Timestamp, Turn, TurnApproval, TurnId, TurnStatus, WorkspaceId,
};

use crate::column::{enum_str, to_json, values};
use crate::connection::{Columns, Tx};
use crate::turns::events::{TurnEvent, TurnRef};
use crate::turns::lease::{self, TurnHold};
use crate::turns::turn;
use crate::validation;
use crate::write::workspace_write::{LogEntry, WorkspaceWrite};
use crate::{Store, StoreError, audit};

/// The columns that [`read_approval`] reads.
macro_rules! approval_columns {
    () => {
        "request, requested_at, expires_at, allowed, decided_by, decided_at, how"
    };
}

fn read_approval(mut row: Columns<'_>) -> Result<TurnApproval, StoreError> {
    let request = row.json("approval")?;
    let requested_at = row.next()?;
    let expires_at = row.next()?;
    let (allowed, decided_by): (Option<bool>, _) = (row.next()?, row.next()?);
    let (decided_at, how): (Option<Timestamp>, _) = (row.next()?, row.next()?);
    let decision = allowed.zip(decided_at);
    let decision =
        decision.map(|(allowed, decided_at)| ApprovalDecision { allowed, decided_by, decided_at, how });
    Ok(TurnApproval { turn_id: None, request, requested_at, expires_at, decision })
}

/// A decision about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// Allows the call.
    pub allow: bool,
    /// Digest of the request that the decision is about; `None` for whatever the request is now.
    pub digest: Option<ContentHash>,
    /// Origin of the decision.
    pub how: HowDecided,
    /// The person or program that decides.
    pub actor: Option<String>,
}

impl Store {
    /// Requests the approval of a call in a turn that `owner` runs, until `expires_at`. A later request for the same
    /// call replaces it.
    pub fn request_approval<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        request: ApprovalRequest,
        expires_at: Timestamp,
    ) -> BoxFuture<'a, Result<TurnApproval, StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO turn_approval (workspace_id, turn_id, call_id, request, requested_at,
            expires_at) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (turn_id, call_id) DO UPDATE SET request = excluded.request,
                requested_at = excluded.requested_at, expires_at = excluded.expires_at, allowed = NULL,
                decided_at = NULL, decided_by = NULL, how = 'asked'";
            validation::check("call_id", &request.call_id)?;
            let event = TurnEvent::ApprovalRequested {
                call_id: request.call_id.clone(),
                tool: request.tool.clone(),
                digest: request.digest.clone(),
                new_file: request.new_file,
                replaces_lines: request.replaces_lines,
            };
            let text = to_json(&request)?;
            let workspace = workspace_id.clone();
            let turn = turn_id.clone();
            let requested_at = self.now();
            self.write_turn(workspace_id, turn_id, owner, vec![event], async move |tx: &mut Tx<'_>| {
                let values = values![&workspace, &turn, &request.call_id, &text, requested_at, expires_at];
                tx.execute(INSERT, values).await?;
                Ok(TurnApproval { turn_id: None, request, requested_at, expires_at, decision: None })
            })
            .await
        })
    }

    /// Records a decision, whichever gateway runs the turn, and logs it. Repeating the same decision changes nothing.
    pub fn answer_approval<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        call_id: &'a str,
        answer: ApprovalAnswer,
    ) -> BoxFuture<'a, Result<TurnApproval, StoreError>> {
        Box::pin(async move {
            validation::check("call_id", call_id)?;
            let turn_id = turn_id.clone();
            let call_id = call_id.to_owned();
            let ApprovalAnswer { allow, digest, how, actor } = answer;
            let now = self.now();
            let decided_by = actor.clone();
            self.write_workspace(
                workspace_id,
                actor.as_deref(),
                async move |write: &mut WorkspaceWrite<'_, '_>| {
                    let (turn, hold) =
                        lease::lock_turn_of_locked(write.tx, &write.workspace_id, &turn_id).await?;
                    // Read under the lock, so that of two decisions the second sees the first.
                    let present = question(write, &turn_id, &call_id).await?;
                    if digest.is_some() && digest != present.request.digest {
                        return Err(about_another_call(&call_id));
                    }
                    match &present.decision {
                        Some(decision) if decision.allowed == allow => return Ok(present),
                        Some(decision) => return Err(decided_otherwise(&call_id, decision.allowed)),
                        None => {}
                    }
                    check_waits(&turn_id, &hold, &present, now)?;
                    let decision = ApprovalDecision { allowed: allow, decided_by, decided_at: now, how };
                    decide(write, &turn, present, decision).await
                },
            )
            .await
        })
    }

    /// Denies a call of a turn that `owner` runs because its time is over, unless it was decided. Returns the decision
    /// that counts.
    pub fn expire_approval<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        call_id: &'a str,
    ) -> BoxFuture<'a, Result<TurnApproval, StoreError>> {
        let turn_id = turn_id.clone();
        let call_id = call_id.to_owned();
        let owner = owner.to_owned();
        let now = self.now();
        self.write_workspace(workspace_id, None, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let (turn, hold) = lease::lock_turn_of_locked(write.tx, &write.workspace_id, &turn_id).await?;
            lease::check_held(&turn_id, &hold, &owner)?;
            let present = question(write, &turn_id, &call_id).await?;
            if present.decision.is_some() {
                return Ok(present);
            }
            let how = HowDecided::Expired;
            let decision = ApprovalDecision { allowed: false, decided_by: None, decided_at: now, how };
            decide(write, &turn, present, decision).await
        })
        .boxed()
    }

    /// Returns the approvals of a turn, oldest first.
    pub fn approvals<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<TurnApproval>, StoreError>> {
        const APPROVALS: &str = concat!(
            "SELECT ",
            approval_columns!(),
            " FROM turn_approval WHERE workspace_id = $1 AND turn_id = $2 ORDER BY requested_at, call_id"
        );
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let approvals = tx.all(APPROVALS, values![&workspace_id, &turn_id], read_approval).await?;
            if approvals.is_empty() {
                turn::find_or_missing(tx, &workspace_id, &turn_id).await?;
            }
            Ok(approvals)
        })
        .boxed()
    }

    /// Returns the pending calls of turns that a turn delegated, directly or indirectly, oldest first.
    pub fn delegated_approvals<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<TurnApproval>, StoreError>> {
        const WAITING: &str = concat!(
            "WITH RECURSIVE below (id) AS (
                SELECT id FROM turn WHERE parent_turn_id = $1
                UNION ALL SELECT c.id FROM turn c JOIN below b ON c.parent_turn_id = b.id)
            SELECT turn.id, ",
            approval_columns!(),
            " FROM below JOIN turn ON turn.id = below.id JOIN turn_approval ON turn_approval.turn_id = turn.id
            WHERE turn.workspace_id = $2 AND turn.status = 'running' AND turn_approval.allowed IS NULL
                AND turn_approval.expires_at > $3
            ORDER BY turn_approval.requested_at, turn.id, turn_approval.call_id"
        );
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        let now = self.now();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.all(WAITING, values![&turn_id, &workspace_id, now], |mut row| {
                let turn_id = Some(row.next()?);
                Ok(TurnApproval { turn_id, ..read_approval(row)? })
            })
            .await
        })
        .boxed()
    }
}

async fn question(
    write: &mut WorkspaceWrite<'_, '_>,
    turn_id: &TurnId,
    call_id: &str,
) -> Result<TurnApproval, StoreError> {
    const PRESENT: &str =
        concat!("SELECT ", approval_columns!(), " FROM turn_approval WHERE turn_id = $1 AND call_id = $2");
    let present = write.tx.one_by_key(PRESENT, values![turn_id, call_id], read_approval).await?;
    present.ok_or_else(|| StoreError::not_found(ErrorSubject::Approval, call_id))
}

/// Writes a decision, its event and its audit entry.
async fn decide(
    write: &mut WorkspaceWrite<'_, '_>,
    turn: &Turn,
    asked: TurnApproval,
    decision: ApprovalDecision,
) -> Result<TurnApproval, StoreError> {
    const DECIDE: &str = "UPDATE turn_approval SET allowed = $1, decided_at = $2, decided_by = $3, how = $4
        WHERE turn_id = $5 AND call_id = $6";
    let ApprovalRequest { call_id, tool, digest, identity, .. } = asked.request.clone();
    let ApprovalDecision { allowed, decided_by, decided_at, how } = &decision;
    let word = enum_str(how);
    let values = values![i64::from(*allowed), *decided_at, decided_by, &word, &turn.id, &call_id];
    write.tx.execute(DECIDE, values).await?;
    let event = TurnEvent::ApprovalDecided {
        call_id: call_id.clone(),
        tool: tool.clone(),
        decision: decision.clone(),
    };
    write.log(LogEntry::of_turn(TurnRef::from(turn), &event)?);
    let turn_id = turn.id.clone();
    let allowed = *allowed;
    let how = *how;
    let event = AuditEvent::ApprovalDecided { turn_id, call_id, tool, digest, allowed, how, identity };
    // An expired request has no decider. The audit log attributes the denial to the gateway.
    let by = if how == HowDecided::Expired { Some(GATEWAY_ACTOR) } else { decided_by.as_deref() };
    audit::record(write.tx, by, Some(&write.workspace_id), event).await?;
    Ok(TurnApproval { decision: Some(decision), ..asked })
}

fn check_waits(
    turn_id: &TurnId,
    hold: &TurnHold,
    approval: &TurnApproval,
    now: Timestamp,
) -> Result<(), StoreError> {
    if hold.status != TurnStatus::Running {
        return Err(StoreError::TurnEnded { turn_id: turn_id.clone(), status: hold.status });
    }
    // The owner denies expired calls itself, but may not have come to it yet.
    if approval.expires_at <= now {
        let call_id = &approval.request.call_id;
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

fn about_another_call(call_id: &str) -> StoreError {
    StoreError::InvalidState(format!(
        "call `{call_id}` is not what was decided about: its arguments, its directory or the file have changed \
         since; look at it again"
    ))
}
