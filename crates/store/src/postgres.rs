//! A PostgreSQL server, through a pool of connections.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};
use tokio::sync::{Semaphore, broadcast};
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
const SESSION: &str = "SET idle_in_transaction_session_timeout = '4s'; SET lock_timeout = '3s'";
/// How long the reason is looked for why nobody could connect.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// How often the database is asked for its time.
const ASK_TIME_EVERY: Duration = Duration::from_secs(10);
/// How long a request waits for a connection before the database counts as unavailable.
const ACQUIRE_TIME: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is tried before it is used.
const TRUSTED_IDLE_TIME: Duration = Duration::from_millis(500);
/// How often a transaction that deadlocked or could not be serialised is run in all.
const ATTEMPTS: u32 = 4;
/// All reads of such a transaction see the moment of the first.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) struct Postgres {
    pool: PgPool,
    writers: Semaphore,
    pub(crate) workspace_writers: WorkspaceWriters,
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
        sqlx::raw_sql("SET LOCAL lock_timeout = 0").execute(&mut *transaction).await?;
        migration::migrate(&mut On::new(Connection::Postgres(&mut transaction))).await?;
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
        let _writer = self.writers.acquire().await;
        let mut transaction = self.begin(None).await?;
        let (outcome, left) = run_job(&mut transaction, counter, change).await;
        // After a failed statement a commit would succeed too, and undo everything: never get there with an error.
        let value = outcome?;
        end(transaction, if left.discarded { End::Rollback } else { End::Commit }).await?;
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
        run_job(&mut connection, counter, job).await.0
    }

    pub(crate) async fn read_snapshot<T, F>(&self, counter: &Counter, job: F) -> Result<T, StoreError>
    where
        F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
    {
        let mut transaction = self.begin(Some(BEGIN_SNAPSHOT)).await?;
        let value = run_job(&mut transaction, counter, job).await.0?;
        end(transaction, End::Commit).await?;
        Ok(value)
    }

    // Boxed, like `end` below, so that the driver's futures are not part of every function of the store.

    fn acquire(&self) -> BoxFuture<'_, Result<PoolConnection<sqlx::Postgres>, StoreError>> {
        Box::pin(async { Ok(self.pool.acquire().await?) })
    }

    fn begin(&self, statement: Option<&'static str>) -> BoxFuture<'_, Result<Transaction, StoreError>> {
        Box::pin(async move {
            Ok(match statement {
                Some(statement) => self.pool.begin_with(statement).await?,
                None => self.pool.begin().await?,
            })
        })
    }

    pub(crate) async fn close(&self) {
        self.background.iter().for_each(|task| task.abort());
        self.pool.close().await;
    }
}

type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;

enum End {
    Commit,
    Rollback,
}

fn end(transaction: Transaction, end: End) -> BoxFuture<'static, Result<(), StoreError>> {
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

/// The database's time, and when it had it as far as can be known from here.
async fn ask_time(pool: &PgPool) -> Result<(Timestamp, Duration), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let asked = up_time();
    let text = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let milliseconds: i64 = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
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
    job: F,
) -> (Result<T, StoreError>, Left)
where
    F: AsyncFnOnce(&mut On<'_>) -> Result<T, StoreError>,
{
    let mut on = On::new(Connection::Postgres(connection));
    let outcome = job(&mut on).await;
    let left = on.into_left();
    counter.count(left.statements);
    (outcome, left)
}

#[cfg(test)]
mod tests;
