//! Turns: started under a lease, ended once, and kept even if their thread is archived.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::message::TurnItem;
use protocol::method::TurnStartParams;
use protocol::round::RoundOutcome;
use protocol::{
    ErrorSubject, Session, ThreadId, Timestamp, TokenId, TokenUsage, Turn, TurnError, TurnId, TurnStatus,
    Version, WorkspaceId,
};

use crate::column::{Value, enum_str, to_json, values};
use crate::connection::{Columns, Tx};
use crate::tree::threads;
use crate::turns::events::{TurnEvent, TurnRef, status_event};
use crate::turns::items;
use crate::turns::lease::{self, Lease};
use crate::turns::requested_tools;
use crate::turns::sessions;
use crate::validation;
use crate::write::workspace_write::{LogEntry, WorkspaceWrite};
use crate::{Store, StoreError};

/// The columns that [`read_turn`] reads.
macro_rules! turn_columns {
    () => {
        "turn.id, turn.workspace_id, turn.thread_id, turn.ordinal, turn.status, turn.input, turn.model, turn.cwd,
        turn.error, turn.usage, turn.created_at, turn.finished_at, turn.created_by, turn.parent_turn_id"
    };
}
pub(crate) use turn_columns;

/// Reads a turn.
// The answer is among its items and not read here.
pub(crate) fn read_turn(row: &mut Columns<'_>) -> Result<Turn, StoreError> {
    Ok(Turn {
        id: row.next()?,
        workspace_id: row.next()?,
        thread_id: row.next()?,
        ordinal: row.next()?,
        status: row.next()?,
        input: row.next()?,
        answer: None,
        model: row.next()?,
        cwd: row.next()?,
        error: row.optional_json("error of a turn")?,
        usage: row.optional_json("usage of a turn")?,
        created_at: row.next()?,
        finished_at: row.next()?,
        created_by: row.next()?,
        parent_turn_id: row.next()?,
    })
}

/// The caller that starts a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnActor {
    /// Value of `created_by`.
    pub name: Option<String>,
    /// The token used, if any. The turn is stopped if it is revoked.
    pub token_id: Option<TokenId>,
    /// The turn that delegates the work; `None` if a person starts it.
    pub parent_turn_id: Option<TurnId>,
}

/// Makes an actor without a token.
impl From<Option<&str>> for TurnActor {
    fn from(name: Option<&str>) -> Self {
        Self { name: name.map(str::to_owned), ..Self::default() }
    }
}

/// The end of a turn: a [`TurnStatus`] with the data that belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The answer is complete. `session` is the thread's new state and the version that it is based on.
    Completed {
        session: Option<Box<(Session, Version)>>,
    },
    Failed(TurnError),
    Cancelled,
}

impl TurnEnd {
    pub fn status(&self) -> TurnStatus {
        match self {
            TurnEnd::Completed { .. } => TurnStatus::Completed,
            TurnEnd::Failed(_) => TurnStatus::Failed,
            TurnEnd::Cancelled => TurnStatus::Cancelled,
        }
    }

    fn error(&self) -> Option<&TurnError> {
        match self {
            TurnEnd::Failed(error) => Some(error),
            TurnEnd::Completed { .. } | TurnEnd::Cancelled => None,
        }
    }

    fn session(&self) -> Option<&(Session, Version)> {
        match self {
            TurnEnd::Completed { session } => session.as_deref(),
            TurnEnd::Failed(_) | TurnEnd::Cancelled => None,
        }
    }
}

/// The end of a turn, and what is stored with it.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishTurn {
    pub end: TurnEnd,
    pub usage: Option<TokenUsage>,
    /// The turn's last items.
    pub items: Vec<TurnItem>,
    /// Events that are logged before the end.
    pub events: Vec<TurnEvent>,
    /// All hidden tools that the thread has requested; `None` if nothing was added. Only stored for a completed turn:
    /// otherwise the requesting call is not replayed.
    pub requested_tools: Option<Vec<String>>,
}

impl FinishTurn {
    /// Makes an end without usage, items and events.
    pub fn new(end: TurnEnd) -> Self {
        Self { end, usage: None, items: Vec::new(), events: Vec::new(), requested_tools: None }
    }
}

/// An end in its stored form.
// It is serialized before the job, because no other job writes while one runs.
#[derive(Clone)]
pub(crate) struct EndTurn {
    finish: FinishTurn,
    error: Option<String>,
    usage: Option<String>,
    session: Option<String>,
    requested_tools: Option<String>,
}

impl EndTurn {
    pub(crate) fn new(finish: FinishTurn) -> Result<Self, StoreError> {
        Ok(Self {
            error: finish.end.error().map(to_json).transpose()?,
            usage: finish.usage.as_ref().map(to_json).transpose()?,
            session: finish.end.session().map(|(state, _)| to_json(state)).transpose()?,
            requested_tools: finish.requested_tools.as_ref().map(to_json).transpose()?,
            finish,
        })
    }
}

impl Store {
    /// Starts the next turn of a thread under a lease. Fails if the thread has a running turn, or the workspace
    /// `max_running`.
    pub fn create_turn<'a>(
        &'a self,
        start: TurnStartParams,
        lease: Lease,
        max_running: Option<u64>,
        actor: impl Into<TurnActor>,
    ) -> BoxFuture<'a, Result<Turn, StoreError>> {
        let actor: TurnActor = actor.into();
        Box::pin(async move {
            validation::check_text("input", &start.input)?;
            start.model.as_deref().map_or(Ok(()), |model| validation::check("model", model))?;
            start.cwd.as_deref().map_or(Ok(()), |cwd| validation::check_path("cwd", cwd))?;
            validation::check("lease_owner", &lease.owner)?;
            let workspace_id = start.workspace_id.clone();
            let max_running = max_running.unwrap_or(u64::MAX);
            // With concurrent writers, another one would likely take a number before this statement gets the lock, and
            // it would fail.
            if self.postgres().is_some_and(|postgres| postgres.has_no_writers(&workspace_id)) {
                let start = start.clone();
                let lease = lease.clone();
                let actor = actor.clone();
                let begun = self.write_joined(&workspace_id, async move |tx: &mut Tx<'_>| {
                    single_statement::begin(tx, &start, &lease, &actor, max_running).await
                });
                if let Some(turn) = begun.await? {
                    return Ok(turn);
                }
            }
            self.write_workspace(
                &workspace_id,
                actor.name.clone().as_deref(),
                async move |write: &mut WorkspaceWrite<'_, '_>| {
                    let turn = write.insert_turn(&start, &lease, &actor, max_running).await?;
                    write.turn_changed(&turn)?;
                    Ok(turn)
                },
            )
            .await
        })
    }

    /// Ends a turn that `owner` runs. Repeating the same end changes nothing, so a caller whose response was lost can
    /// retry.
    pub fn finish_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        owner: &'a str,
        finish: FinishTurn,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Turn, StoreError>> {
        Box::pin(async move {
            let items = items::prepare(&finish.items)?;
            let end = EndTurn::new(finish)?;
            let turn_id = turn_id.clone();
            let owner = owner.to_owned();
            if self.is_postgres() && items.are_plain() {
                let workspace = workspace_id.clone();
                let turn_id = turn_id.clone();
                let owner = owner.clone();
                let items = items.clone();
                let end = end.clone();
                let actor = actor.map(str::to_owned);
                let ended = self.write_joined(workspace_id, async move |tx: &mut Tx<'_>| {
                    let turn = (&workspace, &turn_id, owner.as_str());
                    single_statement::end(tx, turn, &end, &items, actor.as_deref()).await
                });
                if let Some(turn) = ended.await? {
                    return Ok(turn);
                }
            }
            self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                if let Some(turn) = write.end_turn(&turn_id, &end, &EndGuard::Owner(owner.clone())).await? {
                    items::insert(write.tx, &write.workspace_id, &turn_id, &items).await?;
                    items::drop_forgotten_summary(write.tx, &turn_id, &items).await?;
                    return Ok(turn);
                }
                write.ended_before(&turn_id, &owner, &end.finish).await
            })
            .await
        })
    }

    /// Returns the usage of turns that ended since a time, of running turns so far, and of background jobs.
    pub fn usage_since<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<TokenUsage, StoreError>> {
        // One statement, so that a turn that ends meanwhile is counted once. The usage of delegated turns is included
        // in their parent's once that has ended, and counted separately until then.
        const USAGE: &str = "SELECT CAST(0 AS BIGINT), usage FROM turn
            WHERE workspace_id = $1 AND finished_at >= $2 AND usage IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM turn parent WHERE parent.id = turn.parent_turn_id
                AND parent.usage IS NOT NULL)
            UNION ALL
            SELECT CAST(1 AS BIGINT), turn_item.content FROM turn JOIN turn_item ON turn_item.turn_id = turn.id
            WHERE turn.workspace_id = $1 AND turn.finished_at IS NULL AND turn.status = 'running'
                AND turn_item.kind = 'round'
            UNION ALL
            SELECT CAST(0 AS BIGINT), usage FROM background_job
            WHERE workspace_id = $1 AND used_at >= $2 AND usage IS NOT NULL";
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let mut total = TokenUsage::default();
            tx.each(USAGE, values![&workspace_id, since], |row| {
                let mut row = row.columns();
                let is_round: bool = row.next()?;
                total += if is_round {
                    row.json::<RoundOutcome>("round of a turn")?.usage
                } else {
                    row.json("usage of a turn")?
                };
                Ok(())
            })
            .await?;
            Ok(total)
        })
        .boxed()
    }

    /// Returns the number of running turns in one workspace or all, without delegated ones.
    pub fn running_turns<'a>(
        &'a self,
        workspace_id: Option<&'a WorkspaceId>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        const RUNNING: &str = "SELECT count(*) FROM turn
            WHERE turn.status = 'running' AND turn.parent_turn_id IS NULL AND ($1 IS NULL OR workspace_id = $1)";
        let workspace_id = workspace_id.cloned();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![workspace_id.as_ref()];
            Ok(tx.one_by_key(RUNNING, values, |mut row| row.next()).await?.unwrap_or(0))
        })
        .boxed()
    }

    /// Returns a turn without its answer.
    pub fn turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Turn, StoreError>> {
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| find_or_missing(tx, &workspace_id, &turn_id).await).boxed()
    }

    /// Returns the newest turns of a workspace that people started, newest first, without their answers.
    pub fn latest_turns<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        // Ids are UUIDs of version 7, which sort by time.
        const TURNS: &str = concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turn WHERE workspace_id = $1 AND turn.parent_turn_id IS NULL ORDER BY id DESC LIMIT $2"
        );
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.sequence(&workspace_id).await?;
            tx.all(TURNS, values![&workspace_id, limit], |mut row| read_turn(&mut row)).await
        })
        .boxed()
    }

    /// Returns a thread's turns before an ordinal, newest first, without their answers. The thread may be archived.
    pub fn turns<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        limit: u64,
        before: Option<u64>,
    ) -> BoxFuture<'a, Result<Vec<Turn>, StoreError>> {
        const TURNS: &str = concat!(
            "SELECT ",
            turn_columns!(),
            " FROM turn WHERE workspace_id = $1 AND thread_id = $2 AND ordinal < $3
        ORDER BY ordinal DESC LIMIT $4"
        );
        let workspace_id = workspace_id.clone();
        let thread_id = thread_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            threads::find_or_missing(tx, &workspace_id, &thread_id).await?;
            let before = before.unwrap_or(u64::MAX);
            let values = values![&workspace_id, &thread_id, before, limit];
            tx.all(TURNS, values, |mut row| read_turn(&mut row)).await
        })
        .boxed()
    }
}

/// A condition for ending a turn.
// The update itself checks it, because leases change without the workspace's lock.
#[derive(Clone)]
pub(crate) enum EndGuard {
    /// This gateway runs it.
    Owner(String),
    /// Its lease is over at this time.
    ExpiredAt(Timestamp),
    /// Its lease ends after this time, which is later than any valid lease.
    LeasedBeyond(Timestamp),
}

/// Inserts the next turn of a thread, unless the thread has a running one or the workspace too many.
// Running turns have no `finished_at`. The redundant condition lets SQLite use an index instead of visiting every turn
// that ever ran.
macro_rules! insert_turn {
    ($from:literal, $and:literal) => {
        concat!(
            "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, model, cwd, lease_owner,
                lease_expires_at, created_at, created_by, token_id, parent_turn_id)
            SELECT $1, $2, t.id, (SELECT coalesce(max(ordinal), 0) + 1 FROM turn WHERE thread_id = t.id), 'running',
                $4, $5, $6, $7, $8, $9, $10, $12, $13
            FROM thread t",
            $from,
            " WHERE t.id = $3 AND t.workspace_id = $2 AND t.archived_at IS NULL
                AND (SELECT count(*) FROM turn WHERE workspace_id = $2 AND turn.status = 'running'
                    AND turn.finished_at IS NULL AND turn.parent_turn_id IS NULL) < $11",
            $and,
            " ON CONFLICT (thread_id) WHERE status = 'running' DO NOTHING
            RETURNING ",
            turn_columns!()
        )
    };
}

/// The statement that starts a turn.
pub const INSERT_TURN: &str = insert_turn!("", "");

fn new_turn<'a>(
    id: &'a TurnId,
    start: &'a TurnStartParams,
    lease: &'a Lease,
    actor: &'a TurnActor,
    now: Timestamp,
    max_running: u64,
) -> Vec<Value<'a>> {
    values![
        id,
        &start.workspace_id,
        &start.thread_id,
        &start.input,
        &start.model,
        &start.cwd,
        &lease.owner,
        lease.expires_at,
        now,
        &actor.name,
        max_running,
        actor.token_id.as_ref(),
        actor.parent_turn_id.as_ref(),
    ]
    .to_vec()
}

/// Ends a running turn for which a guard holds.
macro_rules! end_turn {
    ($and:literal) => {
        concat!(
            "UPDATE turn SET status = $1, error = $2, usage = $3, lease_expires_at = NULL, finished_at = $4
            WHERE id = $5 AND workspace_id = $6 AND turn.status = 'running'
                AND (lease_owner = $7 OR lease_expires_at <= $8 OR lease_expires_at > $9)",
            $and,
            " RETURNING ",
            turn_columns!()
        )
    };
}

mod single_statement;

impl EndTurn {
    fn values<'a>(
        &'a self,
        status: &'a str,
        usage: &'a Option<String>,
        now: Timestamp,
        (workspace_id, turn_id): (&'a WorkspaceId, &'a TurnId),
        guard: &'a EndGuard,
    ) -> Vec<Value<'a>> {
        let (owner, expired_at, leased_beyond) = match guard {
            EndGuard::Owner(owner) => (Some(owner.as_str()), None, None),
            EndGuard::ExpiredAt(now) => (None, Some(*now), None),
            EndGuard::LeasedBeyond(latest) => (None, None, Some(*latest)),
        };
        values![status, &self.error, usage, now, turn_id, workspace_id, owner, expired_at, leased_beyond]
            .to_vec()
    }
}

impl WorkspaceWrite<'_, '_> {
    /// Logs the status of a turn.
    fn turn_changed(&mut self, turn: &Turn) -> Result<(), StoreError> {
        let event = status_event(turn.status, turn.parent_turn_id.as_ref());
        self.log(LogEntry::of_turn(TurnRef::from(turn), &event)?);
        Ok(())
    }

    async fn insert_turn(
        &mut self,
        start: &TurnStartParams,
        lease: &Lease,
        actor: &TurnActor,
        max_running: u64,
    ) -> Result<Turn, StoreError> {
        let id = TurnId::new();
        let values = new_turn(&id, start, lease, actor, self.now, max_running);
        let inserted = self.tx.one_by_key(INSERT_TURN, &values, |mut row| read_turn(&mut row));
        if let Some(turn) = inserted.await? {
            return Ok(turn);
        }
        // No row was inserted. The order of the checks decides which reason is reported.
        self.live_thread(&start.thread_id).await?;
        let running = "SELECT id FROM turn WHERE thread_id = $1 AND turn.status = 'running'";
        match self.tx.one_by_key(running, values![&start.thread_id], |mut row| row.next()).await? {
            turn_id @ Some(_) => Err(StoreError::TurnRunning { thread_id: start.thread_id.clone(), turn_id }),
            None => Err(StoreError::TooManyTurns { limit: max_running }),
        }
    }

    /// Ends a running turn and logs it.
    // Returns `None` and writes nothing if the guard does not hold.
    pub(crate) async fn end_turn(
        &mut self,
        turn_id: &TurnId,
        end: &EndTurn,
        guard: &EndGuard,
    ) -> Result<Option<Turn>, StoreError> {
        let status = enum_str(end.finish.end.status());
        // A gateway that is gone cannot report the usage, but the turn's rounds recorded theirs.
        let usage = match (guard, &end.usage) {
            (EndGuard::Owner(_), usage) | (_, usage @ Some(_)) => usage.clone(),
            _ => self.rounds_usage(turn_id).await?.as_ref().map(to_json).transpose()?,
        };
        let values = end.values(&status, &usage, self.now, (&self.workspace_id, turn_id), guard);
        let ended = self.tx.one_by_key(end_turn!(""), &values, |mut row| read_turn(&mut row)).await?;
        let Some(turn) = ended else { return Ok(None) };
        if let (Some((_, expected)), Some(text)) = (end.finish.end.session(), &end.session) {
            sessions::write(self.tx, &self.workspace_id, &turn.thread_id, text, *expected).await?;
        }
        if let (TurnStatus::Completed, Some(names)) = (turn.status, &end.requested_tools) {
            requested_tools::write(self.tx, &self.workspace_id, &turn.thread_id, names).await?;
        }
        for event in &end.finish.events {
            self.log(LogEntry::of_turn(TurnRef::from(&turn), event)?);
        }
        self.turn_changed(&turn)?;
        Ok(Some(turn))
    }

    /// Returns the recorded usage of a turn's rounds; `None` if there are no rounds.
    async fn rounds_usage(&mut self, turn_id: &TurnId) -> Result<Option<TokenUsage>, StoreError> {
        const ROUNDS: &str = "SELECT content FROM turn_item WHERE turn_id = $1 AND kind = 'round'";
        let read = |mut row: Columns<'_>| row.json::<RoundOutcome>("round of a turn");
        let rounds = self.tx.all(ROUNDS, values![turn_id], read).await?;
        Ok(rounds.into_iter().map(|round| round.usage).reduce(|mut total, usage| {
            total += usage;
            total
        }))
    }

    /// Returns the turn if it was ended identically before, or the reason that it cannot be ended.
    async fn ended_before(
        &mut self,
        turn_id: &TurnId,
        owner: &str,
        finish: &FinishTurn,
    ) -> Result<Turn, StoreError> {
        let (turn, hold) = lease::lock_turn_of_locked(self.tx, &self.workspace_id, turn_id).await?;
        let is_same = turn.status == finish.end.status()
            && hold.owner.as_deref() == Some(owner)
            && (turn.error.as_ref(), turn.usage) == (finish.end.error(), finish.usage);
        if is_same && self.has_saved(&turn.thread_id, finish.end.session()).await? {
            return Ok(turn);
        }
        lease::check_held(turn_id, &hold, owner)?;
        // The turn is running and ours, but the update did not find it: it was ended in between.
        Err(StoreError::TurnEnded { turn_id: turn_id.clone(), status: turn.status })
    }

    /// Returns true if the session that a turn ends with has been saved, even if a later one replaced it.
    async fn has_saved(
        &mut self,
        thread_id: &ThreadId,
        session: Option<&(Session, Version)>,
    ) -> Result<bool, StoreError> {
        let Some((state, expected)) = session else { return Ok(true) };
        let present = sessions::find(self.tx, &self.workspace_id, thread_id).await?;
        Ok(present.is_some_and(|present| {
            let saved = expected.next();
            present.version > saved || (present.version == saved && present.state == *state)
        }))
    }
}

/// Returns a turn of this workspace, or the error for a missing one.
pub(crate) async fn find_or_missing(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<Turn, StoreError> {
    const TURN: &str = concat!("SELECT ", turn_columns!(), " FROM turn WHERE id = $1 AND workspace_id = $2");
    match tx.one_by_key(TURN, values![turn_id, workspace_id], |mut row| read_turn(&mut row)).await? {
        Some(turn) => Ok(turn),
        None => Err(tx.missing(workspace_id, ErrorSubject::Turn, turn_id).await),
    }
}
