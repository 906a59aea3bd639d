//! A PostgreSQL server, used through a pool of connections.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{Timestamp, WorkspaceId};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio_util::task::AbortOnDropHandle;

use crate::StoreError;
use crate::change_log::Wake;
use crate::connection::{DriverConnection, JobOutcome, Tx};
use crate::engine::clock::{DatabaseClock, up_time};
use crate::engine::counter::Counter;
use crate::engine::postgres::workspace_writers::WorkspaceWriters;
use crate::migrations;

mod announcements;
mod listener;
mod pool;
pub(crate) mod report;
mod workspace_writers;

use announcements::{Announcements, announce};
pub(crate) use pool::SESSION;
use pool::{Borrowed, Pool};

/// Connections for writers.
// The rest is reserved for reads, which must not starve while writers wait for locks.
const WRITERS: usize = 12;
/// Interval between readings of the database's clock.
const ASK_TIME_EVERY: Duration = Duration::from_secs(10);
/// Time limit for a transaction or read, and for the wait of a writer.
// TCP alone reports a frozen or unreachable server only after a quarter of an hour.
const WORK_TIME: Duration = Duration::from_secs(30);
/// Time limit for the last announcements when a store is closed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Attempts for a transaction that deadlocked or could not be serialized.
const ATTEMPTS: u32 = 4;
/// All reads of such a transaction see the state at its first one.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) struct Postgres {
    pool: Pool,
    writers: Semaphore,
    workspace_writers: WorkspaceWriters,
    pub(crate) clock: Arc<DatabaseClock>,
    wakes: broadcast::Sender<Wake>,
    announcements: Arc<Announcements>,
    background: [AbortOnDropHandle<()>; 3],
}

/// Connections to a PostgreSQL server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolFigures {
    /// Most connections.
    pub limit: u64,
    /// Connections in use.
    pub busy: u64,
    /// Open connections that are not in use.
    pub idle: u64,
}

impl Postgres {
    pub(crate) fn pool_figures(&self) -> PoolFigures {
        self.pool.figures()
    }

    pub(crate) async fn open(address: &str, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(address)?.application_name("foreword");
        let pool = Pool::open(options, wakes.clone()).await?;
        let mut connection = pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        // Another gateway may be running migrations, which have no time limit.
        sqlx::raw_sql("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
            .execute(&mut *transaction)
            .await?;
        migrations::migrate(&mut Tx::new(DriverConnection::Postgres(&mut transaction), None)).await?;
        transaction.commit().await?;
        // Only a connection whose work succeeded is returned; on an error above it is dropped and closed.
        connection.release();
        let (time, at) = ask_time(&pool).await?;
        let clock = Arc::new(DatabaseClock::new(time, at));
        let announcements = Arc::new(Announcements::new());
        let listening = listener::listen(pool.options().clone(), announcements.origin(), wakes.clone());
        let background = [
            AbortOnDropHandle::new(tokio::spawn(listening)),
            AbortOnDropHandle::new(tokio::spawn(announce(pool.clone(), Arc::clone(&announcements)))),
            AbortOnDropHandle::new(tokio::spawn(follow_clock(pool.clone(), Arc::clone(&clock)))),
        ];
        Ok(Self {
            pool,
            writers: Semaphore::new(WRITERS),
            workspace_writers: WorkspaceWriters::default(),
            clock,
            wakes,
            announcements,
            background,
        })
    }

    /// Returns the number of the server's timeline, or `None` if it is unknown.
    pub(crate) fn timeline(&self) -> Option<u32> {
        self.pool.timeline()
    }

    /// Returns the time of the database's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns true if this gateway has no writer for a workspace.
    pub(crate) fn has_no_writers(&self, workspace_id: &WorkspaceId) -> bool {
        self.workspace_writers.has_no_writers(workspace_id)
    }

    /// Waits for permission to write to a workspace.
    pub(crate) async fn workspace_permit(
        &self,
        workspace_id: &WorkspaceId,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let writers = self.workspace_writers.of(workspace_id);
        in_time(WORK_TIME, writers.acquire_owned()).await?.map_err(StoreError::unavailable)
    }

    /// Runs a change in a transaction.
    // A transaction that was aborted because of concurrent ones is run again.
    pub(crate) async fn write<T, F>(&self, counter: &Counter, change: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Clone,
    {
        // Each attempt takes a new connection, because the failed one may still be rolling back.
        let mut attempt = 1;
        loop {
            match self.write_once(counter, change.clone()).await {
                Err(error) if error.is_retryable() && attempt < ATTEMPTS => {
                    tracing::debug!(%error, attempt, "retrying a transaction");
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Runs a change that is one statement, and therefore needs no explicit transaction.
    pub(crate) async fn write_alone<T, F>(&self, counter: &Counter, change: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Clone,
    {
        let mut attempt = 1;
        loop {
            let writer = in_time(WORK_TIME, self.writers.acquire()).await?;
            let mut connection = self.acquire().await?;
            let work = run_job(&mut connection, counter, &self.clock, change.clone());
            let done = in_time(WORK_TIME, async {
                let (outcome, left) = work.await;
                outcome.map(|value| (value, left))
            });
            let outcome = match done.await {
                // A rejected statement has already been rolled back by the server, so the connection can be reused.
                Ok(Err(error)) if error.sql_state().is_some() => {
                    connection.release();
                    Err(error)
                }
                done => leave(connection, done),
            };
            drop(writer);
            match outcome {
                // A unique violation would happen again.
                Err(error) if error.is_retryable() && !error.is_taken() && attempt < ATTEMPTS => {
                    tracing::debug!(%error, attempt, "retrying a statement");
                    attempt += 1;
                }
                Err(error) => return Err(error),
                Ok((value, left)) => {
                    self.tell(left.wakes);
                    return Ok(value);
                }
            }
        }
    }

    /// Sends wakes after commit, here and to other gateways.
    fn tell(&self, wakes: Vec<Wake>) {
        for wake in wakes {
            if let Some(workspace_id) = wake.workspace_id() {
                self.announcements.add(workspace_id.clone());
            }
            // Having no receiver is fine: the log is there for later ones.
            let _ = self.wakes.send(wake);
        }
    }

    async fn write_once<T, F>(&self, counter: &Counter, change: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    {
        let _writer = in_time(WORK_TIME, self.writers.acquire()).await?;
        let mut connection = self.acquire().await?;
        let work = async {
            let mut transaction = begin(&mut connection, None).await?;
            let (outcome, left) = run_job(&mut transaction, counter, &self.clock, change).await;
            // After a failed statement, COMMIT succeeds and silently rolls back, so an error must never get there.
            let value = outcome?;
            end(transaction, if left.discarded { End::Rollback } else { End::Commit }).await?;
            Ok((value, left))
        };
        let done = in_time(WORK_TIME, work).await;
        let (value, left) = leave(connection, done)?;
        if left.discarded {
            return Ok(value);
        }
        self.tell(left.wakes);
        Ok(value)
    }

    pub(crate) async fn read<T, F>(&self, counter: &Counter, job: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    {
        let mut connection = self.acquire().await?;
        let work = run_job(&mut connection, counter, &self.clock, job);
        let done = in_time(WORK_TIME, async { work.await.0 }).await;
        leave(connection, done)
    }

    pub(crate) async fn read_snapshot<T, F>(&self, counter: &Counter, job: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    {
        let mut connection = self.acquire().await?;
        let work = async {
            let mut transaction = begin(&mut connection, Some(BEGIN_SNAPSHOT)).await?;
            let value = run_job(&mut transaction, counter, &self.clock, job).await.0?;
            end(transaction, End::Commit).await?;
            Ok(value)
        };
        let done = in_time(WORK_TIME, work).await;
        leave(connection, done)
    }

    fn acquire(&self) -> BoxFuture<'_, Result<Borrowed, StoreError>> {
        Box::pin(self.pool.acquire())
    }

    pub(crate) async fn close(&self) {
        // A gateway that misses the announcement finds the change on its timer.
        let _ = tokio::time::timeout(LAST_WORDS, self.announcements.send(&self.pool)).await;
        self.background.iter().for_each(|task| task.abort());
        self.pool.close().await;
    }
}

type Transaction<'c> = sqlx::Transaction<'c, sqlx::Postgres>;

enum End {
    Commit,
    Rollback,
}

// Boxed, like `end` below, to keep the driver's futures out of every function of the store.

fn begin<'c>(
    connection: &'c mut PgConnection,
    statement: Option<&'static str>,
) -> BoxFuture<'c, Result<Transaction<'c>, StoreError>> {
    Box::pin(async move {
        Ok(match statement {
            Some(statement) => connection.begin_with(statement).await?,
            None => connection.begin().await?,
        })
    })
}

fn end(transaction: Transaction<'_>, end: End) -> BoxFuture<'_, Result<(), StoreError>> {
    Box::pin(async move {
        match end {
            End::Commit => transaction.commit().await?,
            End::Rollback => transaction.rollback().await?,
        }
        Ok(())
    })
}

/// Applies a time limit.
async fn in_time<T>(time: Duration, waiting: impl Future<Output = T>) -> Result<T, StoreError> {
    tokio::time::timeout(time, waiting).await.map_err(|_| {
        let message = format!("the database did not answer within {} s", time.as_secs());
        StoreError::unavailable(std::io::Error::new(std::io::ErrorKind::TimedOut, message))
    })
}

/// Disposes of a connection according to the outcome.
// No work with a connection waits forever: after a timeout the connection is closed, and after an error it is rolled
// back before it is used again.
fn leave<T>(connection: Borrowed, done: Result<Result<T, StoreError>, StoreError>) -> Result<T, StoreError> {
    match &done {
        Ok(Ok(_)) => connection.release(),
        Ok(Err(_)) => drop(connection),
        Err(_) => connection.discard(),
    }
    done?
}

/// Reads the database's time.
// The answer was made between sending and receiving, so it is attributed to the middle.
async fn ask_time(pool: &Pool) -> Result<(Timestamp, Duration), StoreError> {
    let mut connection = pool.acquire().await?;
    let asked = up_time();
    let text = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let ask = async { Ok(sqlx::query_scalar(text).fetch_one(&mut *connection).await?) };
    let done = in_time(WORK_TIME, ask).await;
    let milliseconds: i64 = leave(connection, done)?;
    Ok((Timestamp::from_milliseconds(milliseconds), asked + up_time().saturating_sub(asked) / 2))
}

/// Reads the time periodically for the lifetime of the store, and closes idle connections.
async fn follow_clock(pool: Pool, clock: Arc<DatabaseClock>) {
    loop {
        tokio::time::sleep(ASK_TIME_EVERY).await;
        pool.close_idle();
        // While the database does not answer, the last known time continues to advance.
        if let Ok((time, at)) = ask_time(&pool).await {
            clock.set(time, at);
        }
    }
}

async fn run_job<T, F>(
    connection: &mut PgConnection,
    counter: &Counter,
    clock: &DatabaseClock,
    job: F,
) -> (Result<T, StoreError>, JobOutcome)
where
    F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
{
    let mut tx = Tx::new(DriverConnection::Postgres(connection), Some(clock));
    let outcome = job(&mut tx).await;
    let left = tx.into_outcome();
    counter.count(left.statements);
    (outcome, left)
}

#[cfg(test)]
mod tests;
