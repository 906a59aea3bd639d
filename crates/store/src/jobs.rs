//! Background jobs: rows that any gateway can claim, that outlive it, and that are completed once.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::turn::ExplainedJob;
use protocol::{Timestamp, TokenUsage, TurnId, WorkspaceId};
use serde_json::Value as Json;

use crate::column::{Value, to_json, values};
use crate::connection::{Columns, Tx, numbered};
use crate::memory::additions::{self, NewMemory};
use crate::memory::items::MemoryView;
use crate::retention::OldRows;
use crate::validation;
use crate::{Store, StoreError};

/// A turn's job. A turn has at most one of each kind.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    pub workspace_id: WorkspaceId,
    pub turn_id: TurnId,
    pub kind: String,
    pub payload: Json,
    pub retries: JobRetries,
}

/// Retry limits of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRetries {
    /// Attempts in total, including the first one.
    pub max_attempts: u32,
    /// Delay after the first failure. It doubles after each further one.
    pub back_off: Duration,
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedJob {
    pub id: String,
    pub workspace_id: WorkspaceId,
    pub turn_id: TurnId,
    pub kind: String,
    pub payload: Json,
    /// Number of this attempt, from 1.
    pub attempt: u32,
}

/// Outcome of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobFailure {
    /// Tried again at this time.
    WaitsUntil(Timestamp),
    /// Out of attempts.
    GivenUp,
    /// Another gateway has claimed or finished it.
    NotHeld,
}

/// Error of a job whose last attempt was never finished.
const ABANDONED: &str = "each gateway that worked on it ended before it was done";

const ENDED: OldRows = OldRows {
    delete: "DELETE FROM background_job WHERE id IN",
    // A job that was never started for so long has a kind that no gateway knows any more.
    select: "SELECT id FROM background_job
        WHERE finished_at < $1 OR status = 'waiting' AND attempts = 0 AND created_at < $1",
    order: "id",
};

impl Store {
    /// Adds a job, unless the turn has one of its kind.
    pub fn add_job(&self, job: NewJob) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO background_job (id, workspace_id, turn_id, kind, payload, status, attempts,
                    max_attempts, back_off_ms, due_at, created_at)
                VALUES ($1, $2, $3, $4, $5, 'waiting', 0, $6, $7, $8, $8) ON CONFLICT DO NOTHING";
            validation::check("kind", &job.kind)?;
            let payload = to_json(&job.payload)?;
            validation::check_text("payload", &payload)?;
            let id = uuid::Uuid::now_v7().to_string();
            let back_off = u64::try_from(job.retries.back_off.as_millis()).unwrap_or(u64::MAX);
            self.write(async move |tx: &mut Tx<'_>| {
                let NewJob { workspace_id, turn_id, kind, retries, .. } = &job;
                let max_attempts = retries.max_attempts.max(1);
                let values =
                    values![&id, workspace_id, turn_id, kind, &payload, max_attempts, back_off, tx.now()];
                tx.execute(INSERT, values).await.map(drop)
            })
            .await
        })
    }

    /// Claims a job of one of `kinds` that is due, or whose gateway did not finish in time. Other kinds are left to
    /// gateways that know them.
    // A job without attempts left is given up even if it never failed: it may crash each gateway that runs it.
    pub fn claim_job<'a>(
        &'a self,
        owner: &'a str,
        lease: Duration,
        kinds: &'a [String],
    ) -> BoxFuture<'a, Result<Option<ClaimedJob>, StoreError>> {
        Box::pin(async move {
            // A read first: most gateways never have a job, and a read takes no write lock.
            const DUE: &str =
                "SELECT id FROM background_job WHERE status IN ('waiting', 'running') AND due_at <= ";
            if kinds.is_empty() {
                return Ok(None);
            }
            let now = self.now();
            let kinds = kinds.to_vec();
            let known = kinds.clone();
            let select = format!("{DUE}$1 AND kind IN ({})", numbered(2, kinds.len()));
            let due = async move |tx: &mut Tx<'_>| {
                let mut values = values![now].to_vec();
                values.extend(known.iter().map(Value::from));
                let found =
                    tx.one_by_key(format!("{select} LIMIT 1"), &values, |mut row| row.next::<String>());
                Ok(found.await?.is_some())
            };
            if !self.read(due).await? {
                return Ok(None);
            }
            // Two gateways that claim at the same time must get different jobs instead of waiting for each other.
            let lock = if self.is_postgres() { " FOR UPDATE SKIP LOCKED" } else { "" };
            let give_up = format!(
                "UPDATE background_job SET status = 'failed', owner = NULL, error = $1, finished_at = $2
                WHERE id IN ({DUE}$2 AND attempts >= max_attempts{lock})"
            );
            let claim = format!(
                "UPDATE background_job SET status = 'running', owner = $1, attempts = attempts + 1, due_at = $2
                WHERE id = ({DUE}$3 AND kind IN ({}) ORDER BY due_at, id LIMIT 1{lock})
                RETURNING id, workspace_id, turn_id, kind, payload, attempts",
                numbered(4, kinds.len())
            );
            let owner = owner.to_owned();
            self.write(async move |tx: &mut Tx<'_>| {
                let (now, until) = (tx.now(), later(tx.now(), lease));
                tx.execute(give_up, values![ABANDONED, now]).await?;
                let mut values = values![&owner, until, now].to_vec();
                values.extend(kinds.iter().map(Value::from));
                tx.one_by_key(claim, &values, read_job).await
            })
            .await
        })
    }

    /// Extends the claim on a job. Returns false if another gateway has claimed it.
    pub fn renew_job<'a>(
        &'a self,
        job: &'a ClaimedJob,
        owner: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        const RENEW: &str =
            "UPDATE background_job SET due_at = $1 WHERE id = $2 AND owner = $3 AND attempts = $4";
        let job = job.clone();
        let owner = owner.to_owned();
        self.write(async move |tx: &mut Tx<'_>| {
            let until = later(tx.now(), lease);
            Ok(tx.execute(RENEW, values![until, &job.id, &owner, job.attempt]).await? > 0)
        })
        .boxed()
    }

    /// Adds the cost of work on a job, regardless of its outcome and its holder.
    pub fn add_job_usage<'a>(
        &'a self,
        job: &'a ClaimedJob,
        usage: TokenUsage,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        // The row is updated before its usage is read, so that concurrent additions wait for each other.
        const TIME: &str = "UPDATE background_job SET used_at = $1 WHERE id = $2";
        const BEFORE: &str = "SELECT usage FROM background_job WHERE id = $1";
        const ADD: &str = "UPDATE background_job SET usage = $1 WHERE id = $2";
        let id = job.id.clone();
        self.write(async move |tx: &mut Tx<'_>| {
            let now = tx.now();
            tx.execute(TIME, values![now, &id]).await?;
            let read = |mut row: Columns<'_>| row.optional_json::<TokenUsage>("usage of a job");
            let mut total = tx.one_by_key(BEFORE, values![&id], read).await?.flatten().unwrap_or_default();
            total += usage;
            tx.execute(ADD, values![&to_json(&total)?, &id]).await.map(drop)
        })
        .boxed()
    }

    /// Returns the background jobs of a turn, by kind.
    pub fn jobs_of_turn<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<ExplainedJob>, StoreError>> {
        const JOBS: &str = "SELECT kind, status, attempts, error, usage FROM background_job
            WHERE turn_id = $1 AND workspace_id = $2 ORDER BY kind";
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.all(JOBS, values![&turn_id, &workspace_id], |mut row| {
                Ok(ExplainedJob {
                    kind: row.next()?,
                    status: row.next()?,
                    attempts: row.next()?,
                    error: row.next()?,
                    usage: row.optional_json("usage of a job")?,
                })
            })
            .await
        })
        .boxed()
    }

    /// Finishes a job and stores its results in one transaction. Returns false if another gateway has claimed it; then
    /// nothing is written.
    pub fn finish_job<'a>(
        &'a self,
        job: &'a ClaimedJob,
        owner: &'a str,
        memories: Vec<NewMemory>,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            const FINISH: &str =
                "UPDATE background_job SET status = 'done', owner = NULL, error = NULL, finished_at = $1
                WHERE id = $2 AND owner = $3 AND attempts = $4";
            let now = self.now();
            memories.iter().try_for_each(|new| additions::check(new, now))?;
            let memories: Vec<_> =
                memories.into_iter().map(|new| (memory::IndexTerms::of(&new.text), new)).collect();
            let job = job.clone();
            let owner = owner.to_owned();
            let actor = actor.map(str::to_owned);
            self.write(async move |tx: &mut Tx<'_>| {
                let values = values![tx.now(), &job.id, &owner, job.attempt];
                if tx.execute(FINISH, values).await? == 0 {
                    tx.discard();
                    return Ok(false);
                }
                let view = MemoryView { workspace_id: job.workspace_id, owner: None, thread_id: None };
                for (terms, new) in &memories {
                    additions::add(tx, &view, new, terms, actor.as_deref()).await?;
                }
                Ok(true)
            })
            .await
        })
    }

    /// Records a failed attempt: the job is tried again later, or given up.
    pub fn fail_job<'a>(
        &'a self,
        job: &'a ClaimedJob,
        owner: &'a str,
        error: &'a str,
    ) -> BoxFuture<'a, Result<JobFailure, StoreError>> {
        const HELD: &str = "SELECT max_attempts, back_off_ms FROM background_job WHERE id = $1";
        // The holder is checked by the update itself, because another gateway may claim the job in between.
        const TRY_AGAIN: &str =
            "UPDATE background_job SET status = 'waiting', owner = NULL, error = $1, due_at = $2
            WHERE id = $3 AND owner = $4 AND attempts = $5";
        const GIVE_UP: &str =
            "UPDATE background_job SET status = 'failed', owner = NULL, error = $1, finished_at = $2
            WHERE id = $3 AND owner = $4 AND attempts = $5";
        let job = job.clone();
        let owner = owner.to_owned();
        let error = error.replace('\0', "");
        self.write(async move |tx: &mut Tx<'_>| {
            let read = |mut row: Columns<'_>| Ok((row.next::<u32>()?, row.next::<u64>()?));
            let Some((max_attempts, back_off)) = tx.one_by_key(HELD, values![&job.id], read).await? else {
                tx.discard();
                return Ok(JobFailure::NotHeld);
            };
            let now = tx.now();
            // At most 2^16 times the first delay, so that the shift cannot overflow.
            let factor = 1_u64 << (job.attempt.saturating_sub(1)).min(16);
            let until = later(now, Duration::from_millis(back_off.saturating_mul(factor)));
            let (update, moment, failure) = if job.attempt >= max_attempts {
                (GIVE_UP, now, JobFailure::GivenUp)
            } else {
                (TRY_AGAIN, until, JobFailure::WaitsUntil(until))
            };
            let values = values![&error, moment, &job.id, &owner, job.attempt];
            if tx.execute(update, values).await? == 0 {
                tx.discard();
                return Ok(JobFailure::NotHeld);
            }
            Ok(failure)
        })
        .boxed()
    }

    /// Deletes jobs that ended before a time, or that have not been started since, and returns their number.
    pub fn prune_jobs(&self, older_than: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.prune(&ENDED, None, older_than).boxed()
    }
}

fn read_job(mut row: Columns<'_>) -> Result<ClaimedJob, StoreError> {
    Ok(ClaimedJob {
        id: row.next()?,
        workspace_id: row.next()?,
        turn_id: row.next()?,
        kind: row.next()?,
        payload: row.json("job")?,
        attempt: row.next()?,
    })
}

fn later(now: Timestamp, time: Duration) -> Timestamp {
    let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_milliseconds(now.milliseconds().saturating_add(milliseconds))
}
