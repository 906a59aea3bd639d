//! Turns: begun under a lease, ended once, and kept whatever becomes of their thread.

use protocol::{ErrorSubject, ThreadId, Timestamp, TurnId, TurnStatus, Version, WorkspaceId};
use serde_json::Value;

use crate::column::{enum_str, values};
use crate::lease::{self, Lease};
use crate::on::{Columns, On};
use crate::turn_item::{self, NewTurnItem};
use crate::write::WorkspaceWrite;
use crate::{Store, StoreError, name, session, thread};

/// The columns that [`read_turn`] reads.
macro_rules! turn_columns {
    () => {
        "turn.id, turn.workspace_id, turn.thread_id, turn.ordinal, turn.status, turn.input, turn.model, turn.cwd,
        turn.error, turn.usage, turn.lease_owner, turn.lease_expires_at, turn.created_at, turn.finished_at,
        turn.created_by, turn.stop_requested_at"
    };
}
pub(crate) use turn_columns;

pub(crate) fn read_turn(mut row: Columns<'_>) -> Result<Turn, StoreError> {
    Ok(Turn {
        id: row.next()?,
        workspace_id: row.next()?,
        thread_id: row.next()?,
        ordinal: row.next()?,
        status: row.next()?,
        input: row.next()?,
        model: row.next()?,
        cwd: row.next()?,
        error: row.next()?,
        usage: row.next()?,
        lease_owner: row.next()?,
        lease_expires_at: row.next()?,
        created_at: row.next()?,
        finished_at: row.next()?,
        created_by: row.next()?,
        stop_requested_at: row.next()?,
    })
}

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
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let turn = write.insert_turn(new).await?;
            write.turn_changed(turn.status, turn.thread_id.clone(), turn.id.clone())?;
            Ok(turn)
        })
        .await
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
        self.finish_turn_with(workspace_id, turn_id, owner, Vec::new(), finish, actor).await
    }

    /// The same, with the turn's last items: they are added with the end, or not at all.
    pub async fn finish_turn_with(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        items: Vec<NewTurnItem>,
        finish: FinishTurn,
        actor: Option<&str>,
    ) -> Result<Turn, StoreError> {
        turn_item::check(&items)?;
        let (turn_id, owner) = (turn_id.clone(), owner.to_owned());
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            if let Some(turn) = write.end_turn(&turn_id, &finish, &EndGuard::Owner(owner.clone())).await? {
                if !items.is_empty() {
                    turn_item::insert(write.on, &write.workspace_id, &turn_id, items).await?;
                }
                return Ok(turn);
            }
            let before = find_or_missing(write.on, &write.workspace_id, &turn_id).await?;
            if before.status == finish.end.status()
                && before.lease_owner.as_deref() == Some(&*owner)
                && (&before.error, &before.usage) == (&finish.error, &finish.usage)
                && write.has_saved(&before.thread_id, finish.session.as_ref()).await?
            {
                return Ok(before);
            }
            lease::check_held(&before, &owner)?;
            Err(StoreError::InvalidState(format!("turn `{turn_id}` was ended by somebody else")))
        })
        .await
    }

    /// One turn.
    pub async fn turn(&self, workspace_id: &WorkspaceId, turn_id: &TurnId) -> Result<Turn, StoreError> {
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        self.read(async move |on: &mut On<'_>| find_or_missing(on, &workspace_id, &turn_id).await).await
    }

    /// A thread's turns, newest first; those of an archived thread too.
    pub async fn turns(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        page: TurnPage,
    ) -> Result<Vec<Turn>, StoreError> {
        const TURNS: &str = concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turn WHERE workspace_id = $1 AND thread_id = $2 AND ordinal < $3
            ORDER BY ordinal DESC LIMIT $4"
        );
        let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
        self.read(async move |on: &mut On<'_>| {
            thread::find_or_missing(on, &workspace_id, &thread_id).await?;
            let before = page.before.unwrap_or(u64::MAX);
            on.all(TURNS, values![&workspace_id, &thread_id, before, page.limit], read_turn).await
        })
        .await
    }
}

/// What must still be true of a turn when it is ended. It is asked again in the statement itself.
pub(crate) enum EndGuard {
    /// This gateway runs it.
    Owner(String),
    /// Its lease is over at this moment.
    ExpiredAt(Timestamp),
}

impl WorkspaceWrite<'_, '_> {
    async fn insert_turn(&mut self, new: NewTurn) -> Result<Turn, StoreError> {
        const INSERT: &str = "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, model, cwd,
            lease_owner, lease_expires_at, created_at, created_by)
            SELECT $1, $2, t.id, (SELECT coalesce(max(ordinal), 0) + 1 FROM turn WHERE thread_id = t.id), 'running',
                $4, $5, $6, $7, $8, $9, $10
            FROM thread t WHERE t.id = $3 AND t.workspace_id = $2 AND t.archived_at IS NULL
            ON CONFLICT (thread_id) WHERE status = 'running' DO NOTHING
            RETURNING ordinal";
        let id = TurnId::new();
        let values = values![
            &id,
            &self.workspace_id,
            &new.thread_id,
            &new.input,
            &new.model,
            &new.cwd,
            &new.lease.owner,
            new.lease.expires_at,
            self.now,
            &self.actor,
        ];
        let ordinal = self.on.one_by_key(INSERT, values, |mut row| row.next()).await?;
        let Some(ordinal) = ordinal else {
            self.live_thread(&new.thread_id).await?;
            let running = "SELECT id FROM turn WHERE thread_id = $1 AND turn.status = 'running'";
            let turn_id = self.on.one_by_key(running, values![&new.thread_id], |mut row| row.next()).await?;
            return Err(StoreError::TurnRunning { thread_id: new.thread_id.to_string(), turn_id });
        };
        Ok(Turn {
            id,
            workspace_id: self.workspace_id.clone(),
            thread_id: new.thread_id,
            ordinal,
            status: TurnStatus::Running,
            input: new.input,
            model: new.model,
            cwd: new.cwd,
            error: None,
            usage: None,
            lease_owner: Some(new.lease.owner),
            lease_expires_at: Some(new.lease.expires_at),
            created_at: self.now,
            finished_at: None,
            created_by: self.actor.clone(),
            stop_requested_at: None,
        })
    }

    /// Ends a running turn and logs it; none says that the guard does not hold, and that nothing was written.
    pub(crate) async fn end_turn(
        &mut self,
        turn_id: &TurnId,
        finish: &FinishTurn,
        guard: &EndGuard,
    ) -> Result<Option<Turn>, StoreError> {
        const END: &str = concat!(
            "UPDATE turn SET status = $1, error = $2, usage = $3, lease_expires_at = NULL, finished_at = $4
            WHERE id = $5 AND workspace_id = $6 AND turn.status = 'running'
                AND (lease_owner = $7 OR lease_expires_at <= $8)
            RETURNING ",
            turn_columns!()
        );
        let (owner, expired_at) = match guard {
            EndGuard::Owner(owner) => (Some(owner.as_str()), None),
            EndGuard::ExpiredAt(now) => (None, Some(*now)),
        };
        let status = enum_str(finish.end.status());
        let error = finish.error.as_ref().map(Value::to_string);
        let usage = finish.usage.as_ref().map(Value::to_string);
        let values =
            values![&status, &error, &usage, self.now, turn_id, &self.workspace_id, owner, expired_at];
        let Some(turn) = self.on.one_by_key(END, values, read_turn).await? else { return Ok(None) };
        if let Some((state, expected)) = &finish.session {
            let thread_id = &turn.thread_id;
            let saved = session::write(self.on, &self.workspace_id, thread_id, state, *expected).await?;
            saved.ok_or_else(|| {
                StoreError::InvalidState(format!(
                    "the session of thread `{thread_id}` was changed by somebody else: it is no longer at version \
                     {expected}"
                ))
            })?;
        }
        self.turn_changed(turn.status, turn.thread_id.clone(), turn.id.clone())?;
        Ok(Some(turn))
    }

    /// Whether the session that a turn ends with is the thread's already, or was until a later one.
    async fn has_saved(
        &mut self,
        thread_id: &ThreadId,
        session: Option<&(Value, Version)>,
    ) -> Result<bool, StoreError> {
        let Some((state, expected)) = session else { return Ok(true) };
        let present = session::find(self.on, &self.workspace_id, thread_id).await?;
        Ok(present.is_some_and(|present| {
            let saved = expected.next();
            present.version > saved || (present.version == saved && present.state == *state)
        }))
    }
}

/// A turn of this workspace, or why there is none.
pub(crate) async fn find_or_missing(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<Turn, StoreError> {
    const TURN: &str = concat!("SELECT ", turn_columns!(), " FROM turn WHERE id = $1 AND workspace_id = $2");
    match on.one_by_key(TURN, values![turn_id, workspace_id], read_turn).await? {
        Some(turn) => Ok(turn),
        None => Err(on.missing(workspace_id, ErrorSubject::Turn, turn_id).await),
    }
}
