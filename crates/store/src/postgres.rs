//! A PostgreSQL server, through a pool of connections.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{Timestamp, WorkspaceId};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio_util::task::AbortOnDropHandle;

use crate::change::Wake;
use crate::clock::{DatabaseClock, up_time};
use crate::counter::Counter;
use crate::on::{Connection, Left, On};
use crate::workspace_writers::WorkspaceWriters;
use crate::{StoreError, listener, migration};

/// Connections, readers and writers together.
const CONNECTIONS: u32 = 16;
/// Connections that writers may have at once. The others are left to reads, so that writers who wait for a lock do not
/// keep everybody from everything.
const WRITERS: usize = 12;
/// What holds for every connection.
///
/// A gateway that is frozen in the middle of a transaction keeps the rows that it has locked. The server ends such a
/// transaction after a while, and whoever waits for its locks gives up, and tries again, soon enough to be answered.
///
/// A statement ends before whoever waits for it gives up, so that nothing runs on for nobody, and the server notices a
/// gateway whose machine is gone.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '4s'; SET lock_timeout = '3s';
    SET statement_timeout = '20s'; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3";
/// How long the reason is looked for why nobody could connect.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// How often the database is asked for its time.
const ASK_TIME_EVERY: Duration = Duration::from_secs(10);
/// How long a request waits for a connection before the database counts as unavailable.
const ACQUIRE_TIME: Duration = Duration::from_secs(5);
/// How long a transaction, or a read, may take from its first statement to its last, and how long a writer waits for its
/// turn. A server that is frozen, or cut off without a word, says nothing by itself for a quarter of an hour.
const WORK_TIME: Duration = Duration::from_secs(30);
/// A connection that was idle for longer is tried before it is used.
const TRUSTED_IDLE_TIME: Duration = Duration::from_millis(500);
/// How often a transaction that deadlocked or could not be serialised is run in all.
const ATTEMPTS: u32 = 4;
/// All reads of such a transaction see the moment of the first.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) struct Postgres {
    pool: PgPool,
    writers: Semaphore,
    workspace_writers: WorkspaceWriters,
    pub(crate) clock: Arc<DatabaseClock>,
    wakes: broadcast::Sender<Wake>,
    background: [AbortOnDropHandle<()>; 2],
}

impl Postgres {
    pub(crate) async fn open(address: &str, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(address)?.application_name("foreword");
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIME)
            .test_before_acquire(false)
            .after_connect(|connection, _| {
                Box::pin(async move { connection.execute(SESSION).await.map(drop) })
            })
            .before_acquire(|connection, idle| {
                Box::pin(async move {
                    if idle.idle_for > TRUSTED_IDLE_TIME {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options.clone())
            .await;
        let pool = match pool {
            Ok(pool) => pool,
            // A pool says that it waited, and not for what.
            Err(sqlx::Error::PoolTimedOut) => return Err(why_unreachable(&options).await),
            Err(error) => return Err(error.into()),
        };
        let mut transaction = pool.begin().await?;
        // Another gateway may be migrating, and that may take as long as it takes.
        sqlx::raw_sql("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
            .execute(&mut *transaction)
            .await?;
        migration::migrate(&mut On::new(Connection::Postgres(&mut transaction), None)).await?;
        transaction.commit().await?;
        let (time, at) = ask_time(&pool).await?;
        let clock = Arc::new(DatabaseClock::new(time, at));
        let background = [
            AbortOnDropHandle::new(tokio::spawn(listener::listen(pool.clone(), wakes.clone()))),
            AbortOnDropHandle::new(tokio::spawn(follow_clock(pool.clone(), Arc::clone(&clock)))),
        ];
        Ok(Self {
            pool,
            writers: Semaphore::new(WRITERS),
            workspace_writers: WorkspaceWriters::default(),
            clock,
            wakes,
            background,
        })
    }

    /// The time of the database's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A place among the writers of a workspace.
    pub(crate) async fn workspace_permit(
        &self,
        workspace_id: &WorkspaceId,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let writers = self.workspace_writers.of(workspace_id);
        in_time(WORK_TIME, writers.acquire_owned()).await?.map_err(StoreError::unavailable)
    }

    /// Runs a change in a transaction. One that was given up because of others beside it left no trace, and is run again
    /// as a whole.
    pub(crate) async fn write<T, F>(&self, counter: &Counter, change: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError> + Clone,
    {
        let mut attempt = 1;
        loop {
            match self.write_once(counter, change.clone()).await {
                Err(error) if error.is_retryable() && attempt < ATTEMPTS => {
                    tracing::debug!(%error, attempt, "a transaction is run again");
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn write_once<T, F>(&self, counter: &Counter, change: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
    {
        let _writer = in_time(WORK_TIME, self.writers.acquire()).await?;
        let mut connection = self.acquire().await?;
        let work = async {
            let mut transaction = begin(&mut connection.inner, None).await?;
            let (outcome, left) = run_job(&mut transaction, counter, &self.clock, change).await;
            // After a failed statement a commit would succeed too, and undo everything: never get there with an error.
            let value = outcome?;
            end(transaction, if left.discarded { End::Rollback } else { End::Commit }).await?;
            Ok((value, left))
        };
        let done = in_time(WORK_TIME, work).await;
        let (value, left) = connection.unless_late(done)?;
        if left.discarded {
            return Ok(value);
        }
        for wake in left.wakes {
            // Nobody listening is fine: the log is there for whoever comes later.
            let _ = self.wakes.send(wake);
        }
        Ok(value)
    }

    pub(crate) async fn read<T, F>(&self, counter: &Counter, job: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
    {
        let mut connection = self.acquire().await?;
        let work = run_job(&mut connection.inner, counter, &self.clock, job);
        let done = in_time(WORK_TIME, async { work.await.0 }).await;
        connection.unless_late(done)
    }

    pub(crate) async fn read_snapshot<T, F>(&self, counter: &Counter, job: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
    {
        let mut connection = self.acquire().await?;
        let work = async {
            let mut transaction = begin(&mut connection.inner, Some(BEGIN_SNAPSHOT)).await?;
            let value = run_job(&mut transaction, counter, &self.clock, job).await.0?;
            end(transaction, End::Commit).await?;
            Ok(value)
        };
        let done = in_time(WORK_TIME, work).await;
        connection.unless_late(done)
    }

    fn acquire(&self) -> BoxFuture<'_, Result<Borrowed, StoreError>> {
        Box::pin(Borrowed::acquire(&self.pool))
    }

    pub(crate) async fn close(&self) {
        self.background.iter().for_each(|task| task.abort());
        self.pool.close().await;
    }
}

type Transaction<'c> = sqlx::Transaction<'c, sqlx::Postgres>;

enum End {
    Commit,
    Rollback,
}

// Boxed, like `end` below, so that the driver's futures are not part of every function of the store.

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

/// What a server says, or what keeps it from saying anything.
async fn why_unreachable(options: &PgConnectOptions) -> StoreError {
    match tokio::time::timeout(LOOK_TIME, PgConnection::connect_with(options)).await {
        Ok(Err(error)) => error.into(),
        _ => StoreError::unavailable(format!("no answer for {} seconds", ACQUIRE_TIME.as_secs())),
    }
}

/// Waits no longer than that.
async fn in_time<T>(time: Duration, waiting: impl Future<Output = T>) -> Result<T, StoreError> {
    tokio::time::timeout(time, waiting).await.map_err(|_| {
        let message = format!("the database did not answer within {} s", time.as_secs());
        StoreError::unavailable(std::io::Error::new(std::io::ErrorKind::TimedOut, message))
    })
}

/// A connection of the pool. Nothing that is done with it waits for ever, and neither does giving it back: a connection
/// that says nothing is closed, so that its place in the pool is free for another.
struct Borrowed {
    inner: PoolConnection<sqlx::Postgres>,
    is_late: bool,
}

impl Borrowed {
    async fn acquire(pool: &PgPool) -> Result<Self, StoreError> {
        Ok(Self { inner: pool.acquire().await?, is_late: false })
    }

    /// What was done in time; a connection that did nothing in that time is not used again.
    fn unless_late<T>(&mut self, done: Result<Result<T, StoreError>, StoreError>) -> Result<T, StoreError> {
        if done.is_err() {
            self.inner.close_on_drop();
            self.is_late = true;
        }
        done?
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.is_late {
            return;
        }
        // The pool tries a connection that it gets back, for as long as that takes.
        let returning = self.inner.return_to_pool();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(ACQUIRE_TIME, returning));
        }
    }
}

/// The database's time, and when it had it as far as can be known from here.
async fn ask_time(pool: &PgPool) -> Result<(Timestamp, Duration), StoreError> {
    let mut connection = Borrowed::acquire(pool).await?;
    let asked = up_time();
    let text = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let ask = async { Ok(sqlx::query_scalar(text).fetch_one(&mut *connection.inner).await?) };
    let done = in_time(WORK_TIME, ask).await;
    let milliseconds: i64 = connection.unless_late(done)?;
    Ok((Timestamp::from_milliseconds(milliseconds), asked + up_time().saturating_sub(asked) / 2))
}

/// Asks for the time again and again, for as long as the store lives.
async fn follow_clock(pool: PgPool, clock: Arc<DatabaseClock>) {
    loop {
        tokio::time::sleep(ASK_TIME_EVERY).await;
        // While the database does not answer, the time since its last answer goes on being added.
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
) -> (Result<T, StoreError>, Left)
where
    F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
{
    let mut on = On::new(Connection::Postgres(connection), Some(clock));
    let outcome = job(&mut on).await;
    let left = on.into_left();
    counter.count(left.statements);
    (outcome, left)
}

#[cfg(test)]
mod tests;
