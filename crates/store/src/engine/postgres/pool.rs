//! The connections of a PostgreSQL server.
//!
//! A pool of the driver asks every connection that it gets back whether it is still there: one more round trip for every
//! read. Here a connection whose work was done goes back as it is, and only one whose work was not is asked.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::StoreError;

/// Connections, readers and writers together.
pub(super) const CONNECTIONS: u32 = 16;
/// How long a request waits for a connection before the database counts as unavailable.
pub(super) const ACQUIRE_TIME: Duration = Duration::from_secs(5);
/// How long the reason is looked for why nobody could connect.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// Between two tries to connect to a server that is being started.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A connection that was idle for longer is tried before it is used.
const TRUSTED_IDLE_TIME: Duration = Duration::from_millis(500);
/// How long trying it may take, so that there is time for another one.
const PING_TIME: Duration = Duration::from_secs(1);
/// A connection that nobody has needed for longer is closed.
const IDLE_TIME: Duration = Duration::from_secs(600);
/// A connection that is older is closed: what a server keeps for it only grows.
const LIFE_TIME: Duration = Duration::from_secs(1800);
/// Statements that a connection keeps prepared: all that the store has.
const STATEMENTS: usize = 500;
/// What holds for every connection.
///
/// A gateway that is frozen in the middle of a transaction keeps the rows that it has locked. The server ends such a
/// transaction after a while, and whoever waits for its locks gives up, and tries again, soon enough to be answered.
///
/// A statement ends before whoever waits for it gives up, so that nothing runs on for nobody, and the server notices a
/// gateway whose machine is gone.
pub(crate) const SESSION: &str = "SET idle_in_transaction_session_timeout = '4s'; SET lock_timeout = '3s';
    SET statement_timeout = '20s'; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3";

/// At most so many connections, made when they are needed.
#[derive(Clone)]
pub(super) struct Pool {
    options: Arc<PgConnectOptions>,
    idle: Arc<Mutex<Vec<Idle>>>,
    places: Arc<Semaphore>,
}

struct Idle {
    connection: PgConnection,
    made: Instant,
    since: Instant,
}

impl Pool {
    /// A pool whose first connection has been made.
    pub(super) async fn open(options: PgConnectOptions) -> Result<Self, StoreError> {
        let pool = Self {
            options: Arc::new(options.statement_cache_capacity(STATEMENTS)),
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        };
        pool.acquire().await?.release();
        Ok(pool)
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// A connection that answers, the one that was used last where there is one.
    pub(super) async fn acquire(&self) -> Result<Borrowed, StoreError> {
        match tokio::time::timeout(ACQUIRE_TIME, self.acquire_at_last()).await {
            Ok(acquired) => acquired,
            // That somebody waited does not say for what.
            Err(_) => Err(self.why_unreachable().await),
        }
    }

    async fn acquire_at_last(&self) -> Result<Borrowed, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(StoreError::unavailable)?;
        let (connection, made) = loop {
            let Some(Idle { mut connection, made, since }) = self.take_idle() else {
                break (self.connect().await?, Instant::now());
            };
            // One that was lost meanwhile is dropped, and the next is tried.
            if since.elapsed() < TRUSTED_IDLE_TIME || is_alive(&mut connection).await {
                break (connection, made);
            }
        };
        Ok(Borrowed { pool: self.clone(), inner: Some((connection, made, place)) })
    }

    /// A new connection. A server that is being started is waited for.
    async fn connect(&self) -> Result<PgConnection, StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match PgConnection::connect_with(&self.options).await {
                Ok(mut connection) => {
                    connection.execute(SESSION).await?;
                    return Ok(connection);
                }
                Err(error) if is_starting(&error) => {
                    tokio::time::sleep(pause).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn take_idle(&self) -> Option<Idle> {
        self.idle.lock().pop()
    }

    fn put_back(&self, connection: PgConnection, made: Instant) {
        if made.elapsed() < LIFE_TIME && !self.places.is_closed() {
            let idle = Idle { connection, made, since: Instant::now() };
            self.idle.lock().push(idle);
        }
    }

    /// Closes what nobody has needed for long.
    pub(super) fn close_idle(&self) {
        let mut idle = self.idle.lock();
        idle.retain(|idle| idle.since.elapsed() < IDLE_TIME);
    }

    /// What a server says, or what keeps it from saying anything.
    async fn why_unreachable(&self) -> StoreError {
        match tokio::time::timeout(LOOK_TIME, PgConnection::connect_with(&self.options)).await {
            Ok(Err(error)) => error.into(),
            _ => StoreError::unavailable(format!("no answer for {} seconds", ACQUIRE_TIME.as_secs())),
        }
    }

    /// Waits for every connection that is in use, and closes all.
    pub(super) async fn close(&self) {
        // Whoever waits for one now is told that there are none any more.
        let _all = self.places.acquire_many(CONNECTIONS).await;
        self.places.close();
        while let Some(Idle { connection, .. }) = self.take_idle() {
            let _ = connection.close().await;
        }
    }
}

/// Whether the same may succeed in a moment.
fn is_starting(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}

async fn is_alive(connection: &mut PgConnection) -> bool {
    matches!(tokio::time::timeout(PING_TIME, connection.ping()).await, Ok(Ok(())))
}

/// A connection of the pool, and its place there. One that is dropped without having been given back was left in the
/// middle of something: whoever waits for an answer may stop waiting at any moment.
pub(super) struct Borrowed {
    pool: Pool,
    inner: Option<(PgConnection, Instant, OwnedSemaphorePermit)>,
}

impl Borrowed {
    /// Gives back a connection with which everything was done that was begun.
    pub(super) fn release(mut self) {
        if let Some((connection, made, place)) = self.inner.take() {
            self.pool.put_back(connection, made);
            drop(place);
        }
    }

    /// Closes a connection that says nothing, so that its place is free for another.
    pub(super) fn discard(mut self) {
        self.inner = None;
    }
}

impl Deref for Borrowed {
    type Target = PgConnection;

    #[expect(clippy::expect_used, reason = "only what consumes it takes the connection away")]
    fn deref(&self) -> &PgConnection {
        &self.inner.as_ref().expect("a connection until it is given back").0
    }
}

impl DerefMut for Borrowed {
    #[expect(clippy::expect_used, reason = "only what consumes it takes the connection away")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.inner.as_mut().expect("a connection until it is given back").0
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let Some((mut connection, made, place)) = self.inner.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let pool = self.pool.clone();
        // What was asked is answered first. The driver rolls back what it knows to have begun, which a transaction is not
        // while its beginning is not answered; without one this is a warning in the server's log at most.
        runtime.spawn(async move {
            let rollback = async { connection.execute("ROLLBACK").await.map(drop) };
            if let Ok(Ok(())) = tokio::time::timeout(ACQUIRE_TIME, rollback).await {
                pool.put_back(connection, made);
            }
            drop(place);
        });
    }
}
