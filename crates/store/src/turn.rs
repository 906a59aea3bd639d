//! Turns: begun under a lease, ended once, and kept whatever becomes of their thread.

use protocol::{ThreadId, Timestamp, TurnId, TurnStatus, Version, WorkspaceId};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use serde_json::Value;

use crate::entity::{self, turn};
use crate::error::is_unique_violation;
use crate::lease::{self, Lease};
use crate::write::WorkspaceWrite;
use crate::{Store, StoreError, name, session, thread};

/// A turn as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Identifies the turn.
    pub id: TurnId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The thread.
    pub thread_id: ThreadId,
    /// Counts the thread's turns from 1.
    pub ordinal: u64,
    /// How far it is.
    pub status: TurnStatus,
    /// What was asked.
    pub input: String,
    /// The model it was asked of, as `provider/model`.
    pub model: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Why it has no answer.
    pub error: Option<Value>,
    /// What it cost.
    pub usage: Option<Value>,
    /// Who runs it, or ran it last.
    pub lease_owner: Option<String>,
    /// Until when it counts as alive; none when it has ended.
    pub lease_expires_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Who asked.
    pub created_by: Option<String>,
    /// When it was asked to stop.
    pub stop_requested_at: Option<Timestamp>,
}

/// What a new turn has.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// The thread.
    pub thread_id: ThreadId,
    /// What is asked.
    pub input: String,
    /// The model it is asked of.
    pub model: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Who runs it, and until when it counts as alive.
    pub lease: Lease,
}

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnEnd {
    /// With its answer.
    Completed,
    /// Without one.
    Failed,
    /// Because somebody stopped it.
    Cancelled,
}

impl TurnEnd {
    /// The status of a turn that has ended so.
    pub fn status(self) -> TurnStatus {
        match self {
            TurnEnd::Completed => TurnStatus::Completed,
            TurnEnd::Failed => TurnStatus::Failed,
            TurnEnd::Cancelled => TurnStatus::Cancelled,
        }
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishTurn {
    /// How it ended.
    pub end: TurnEnd,
    /// Why it has no answer.
    pub error: Option<Value>,
    /// What it cost.
    pub usage: Option<Value>,
    /// What the thread carries on from here, and the version of the session that it is based on.
    pub session: Option<(Value, Version)>,
}

/// Which of a thread's turns are wanted.
#[derive(Debug, Clone, Copy)]
pub struct TurnPage {
    /// Most turns.
    pub limit: u64,
    /// Only turns whose ordinal is below this one.
    pub before: Option<u64>,
}

impl Store {
    /// Begins the next turn of a thread; refused while another one runs.
    pub async fn create_turn(
        &self,
        workspace_id: &WorkspaceId,
        new: NewTurn,
        actor: Option<&str>,
    ) -> Result<Turn, StoreError> {
        name::check_text("input", &new.input)?;
        new.model.as_deref().map_or(Ok(()), |model| name::check("model", model))?;
        new.cwd.as_deref().map_or(Ok(()), |cwd| name::check_path("cwd", cwd))?;
        name::check("lease_owner", &new.lease.owner)?;
        let mut write = self.write(workspace_id, actor).await?;
        thread::find_live(&write, &new.thread_id).await?;
        if let Some(running) = running_turn(&write.transaction, &new.thread_id).await? {
            return Err(already_running(&new.thread_id, Some(&running)));
        }
        let row = turn::Model {
            id: TurnId::new().to_string(),
            workspace_id: workspace_id.to_string(),
            thread_id: new.thread_id.to_string(),
            ordinal: newest_ordinal(&write.transaction, &new.thread_id).await? + 1,
            status: entity::to_word(&TurnStatus::Running),
            input: new.input,
            model: new.model,
            cwd: new.cwd,
            error: None,
            usage: None,
            lease_owner: Some(new.lease.owner),
            lease_expires_at: Some(new.lease.expires_at.milliseconds()),
            created_at: write.now.milliseconds(),
            finished_at: None,
            created_by: write.actor.clone(),
            stop_requested_at: None,
        };
        let inserted = turn::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&write.transaction)
            .await;
        match inserted {
            Err(error) if is_unique_violation(&error) => return Err(already_running(&new.thread_id, None)),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let turn = Turn::try_from(row)?;
        write.turn_changed(turn.status, turn.thread_id.clone(), turn.id.clone())?;
        write.commit().await?;
        Ok(turn)
    }

    /// Ends a turn that `owner` runs. Saying the same again changes nothing, so a lost answer can be asked for again.
    pub async fn finish_turn(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        finish: FinishTurn,
        actor: Option<&str>,
    ) -> Result<Turn, StoreError> {
        let write = self.write(workspace_id, actor).await?;
        // Locked: a request to stop does not wait for the workspace, and belongs to what is answered.
        let row = self.locked_turn(&write.transaction, workspace_id, turn_id).await?;
        let before = Turn::try_from(row.clone())?;
        if before.status == finish.end.status()
            && before.lease_owner.as_deref() == Some(owner)
            && (&before.error, &before.usage) == (&finish.error, &finish.usage)
            && write.has_saved(&before.thread_id, finish.session.as_ref()).await?
        {
            return Ok(before);
        }
        lease::check_held(&row, owner)?;
        write.finish_turn(row, finish, turn::Column::LeaseOwner.eq(owner)).await
    }

    /// One turn.
    pub async fn turn(&self, workspace_id: &WorkspaceId, turn_id: &TurnId) -> Result<Turn, StoreError> {
        match find(self.readers(), workspace_id, turn_id).await {
            Ok(row) => row.try_into(),
            Err(error) => {
                self.sequence(workspace_id).await?;
                Err(error)
            }
        }
    }

    /// A thread's turns, newest first; those of an archived thread too.
    pub async fn turns(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        page: TurnPage,
    ) -> Result<Vec<Turn>, StoreError> {
        self.thread(workspace_id, thread_id).await?;
        let mut query = turn::Entity::find()
            .filter(turn::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(turn::Column::ThreadId.eq(thread_id.as_str()))
            .order_by_desc(turn::Column::Ordinal)
            .limit(page.limit);
        if let Some(before) = page.before {
            query = query.filter(turn::Column::Ordinal.lt(entity::to_column(before)));
        }
        query.all(self.readers()).await?.into_iter().map(Turn::try_from).collect()
    }
}

impl WorkspaceWrite<'_> {
    /// Ends a running turn, logs it and commits. The guard is asked again in the statement itself.
    pub(crate) async fn finish_turn(
        mut self,
        row: turn::Model,
        finish: FinishTurn,
        guard: sea_orm::sea_query::SimpleExpr,
    ) -> Result<Turn, StoreError> {
        let after = turn::Model {
            status: entity::to_word(&finish.end.status()),
            error: finish.error.map(|error| error.to_string()),
            usage: finish.usage.map(|usage| usage.to_string()),
            lease_expires_at: None,
            finished_at: Some(self.now.milliseconds()),
            ..row
        };
        let updated = turn::Entity::update_many()
            .col_expr(turn::Column::Status, Expr::value(after.status.as_str()))
            .col_expr(turn::Column::Error, Expr::value(after.error.clone()))
            .col_expr(turn::Column::Usage, Expr::value(after.usage.clone()))
            .col_expr(turn::Column::LeaseExpiresAt, Expr::value(after.lease_expires_at))
            .col_expr(turn::Column::FinishedAt, Expr::value(after.finished_at))
            .filter(turn::Column::Id.eq(after.id.as_str()))
            .filter(turn::running())
            .filter(guard)
            .exec(&self.transaction)
            .await?;
        if updated.rows_affected != 1 {
            return Err(StoreError::InvalidState(format!("turn `{}` was ended by somebody else", after.id)));
        }
        let turn = Turn::try_from(after)?;
        if let Some((state, expected)) = finish.session {
            let (workspace_id, thread_id) = (&self.workspace_id, &turn.thread_id);
            session::write(&self.transaction, workspace_id, thread_id, &state, expected).await?.ok_or_else(
                || {
                    StoreError::InvalidState(format!(
                        "the session of thread `{thread_id}` was changed by somebody else: it is no longer at \
                         version {expected}"
                    ))
                },
            )?;
        }
        self.turn_changed(turn.status, turn.thread_id.clone(), turn.id.clone())?;
        self.commit().await?;
        Ok(turn)
    }

    /// Whether the session that a turn ends with is the thread's already, or was until a later one.
    async fn has_saved(
        &self,
        thread_id: &ThreadId,
        session: Option<&(Value, Version)>,
    ) -> Result<bool, StoreError> {
        let Some((state, expected)) = session else { return Ok(true) };
        let present = session::find(&self.transaction, &self.workspace_id, thread_id).await?;
        Ok(present.is_some_and(|present| {
            let saved = expected.next();
            present.version > saved || (present.version == saved && present.state == *state)
        }))
    }
}

/// A turn of this workspace.
pub(crate) async fn find(
    connection: &impl ConnectionTrait,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<turn::Model, StoreError> {
    turn::Entity::find_by_id(turn_id.as_str())
        .filter(turn::Column::WorkspaceId.eq(workspace_id.as_str()))
        .one(connection)
        .await?
        .ok_or_else(|| StoreError::not_found("turn", turn_id))
}

async fn running_turn(
    connection: &impl ConnectionTrait,
    thread_id: &ThreadId,
) -> Result<Option<String>, StoreError> {
    Ok(turn::Entity::find()
        .select_only()
        .column(turn::Column::Id)
        .filter(turn::Column::ThreadId.eq(thread_id.as_str()))
        .filter(turn::running())
        .into_tuple()
        .one(connection)
        .await?)
}

async fn newest_ordinal(connection: &impl ConnectionTrait, thread_id: &ThreadId) -> Result<i64, StoreError> {
    let newest: Option<i64> = turn::Entity::find()
        .select_only()
        .column(turn::Column::Ordinal)
        .filter(turn::Column::ThreadId.eq(thread_id.as_str()))
        .order_by_desc(turn::Column::Ordinal)
        .limit(1)
        .into_tuple()
        .one(connection)
        .await?;
    Ok(newest.unwrap_or(0))
}

fn already_running(thread_id: &ThreadId, running: Option<&str>) -> StoreError {
    StoreError::TurnRunning { thread_id: thread_id.to_string(), turn_id: running.map(str::to_owned) }
}
