//! The connections to a PostgreSQL server.

// The driver's own pool tests every connection that is returned, which is one more round trip for each read. Here only
// connections whose work was interrupted are tested.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::StoreError;
use crate::change_log::Wake;
use crate::engine::postgres::PoolFigures;

/// Connections for readers and writers together.
pub(super) const CONNECTIONS: u32 = 16;
/// Time that a request waits for a connection before the database counts as unavailable.
pub(super) const ACQUIRE_TIME: Duration = Duration::from_secs(5);
/// Time limit for finding out why no connection could be made.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// Pauses between attempts to connect to a server that is starting: they double up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Connections that were idle for longer are tested before use.
const TRUSTED_IDLE_TIME: Duration = Duration::from_millis(500);
/// Time limit of such a test, short enough to try another connection afterwards.
const PING_TIME: Duration = Duration::from_secs(1);
/// Connections that were idle for longer are closed.
const IDLE_TIME: Duration = Duration::from_secs(600);
/// Connections that are older are closed, because the server's memory for a session only grows.
const LIFE_TIME: Duration = Duration::from_secs(1800);
/// Prepared statements per connection: more than the store has.
const STATEMENTS: usize = 500;
/// Settings of every connection.
// A gateway that is frozen inside a transaction keeps its row locks. The server ends such a transaction after a while,
// and writers that wait for its locks give up and retry early enough to be answered.
//
// A statement ends before its caller gives up, so that the server does no work for absent callers, and keepalives make
// the server notice a gateway whose machine is gone.
pub(crate) const SESSION: &str = "SET idle_in_transaction_session_timeout = '4s'; SET lock_timeout = '3s';
    SET statement_timeout = '20s'; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3";

/// Returns the number of the server's timeline in hexadecimal, which grows with every promotion of a standby. `NULL` on a
/// standby.
const TIMELINE: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL
    ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END";

/// A limited number of connections, which are made on demand.
#[derive(Clone)]
pub(super) struct Pool {
    options: Arc<PgConnectOptions>,
    idle: Arc<Mutex<Vec<Idle>>>,
    places: Arc<Semaphore>,
    /// Timeline of the newest connection; 0 if unknown.
    timeline: Arc<AtomicU32>,
    wakes: broadcast::Sender<Wake>,
}

struct Idle {
    connection: PgConnection,
    made: Instant,
    since: Instant,
}

impl Pool {
    /// Opens a pool and makes its first connection, so that a wrong address fails here.
    pub(super) async fn open(
        options: PgConnectOptions,
        wakes: broadcast::Sender<Wake>,
    ) -> Result<Self, StoreError> {
        let pool = Self {
            options: Arc::new(options.statement_cache_capacity(STATEMENTS)),
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(CONNECTIONS as usize)),
            timeline: Arc::default(),
            wakes,
        };
        pool.acquire().await?.release();
        Ok(pool)
    }

    pub(super) fn figures(&self) -> PoolFigures {
        let limit = u64::from(CONNECTIONS);
        let free = self.places.available_permits() as u64;
        PoolFigures { limit, busy: limit.saturating_sub(free), idle: self.idle.lock().len() as u64 }
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns a working connection, preferably the one that was used last.
    pub(super) async fn acquire(&self) -> Result<Borrowed, StoreError> {
        match tokio::time::timeout(ACQUIRE_TIME, self.acquire_at_last()).await {
            Ok(acquired) => acquired,
            // The timeout carries no reason, so the server is contacted once more for its error.
            Err(_) => Err(self.why_unreachable().await),
        }
    }

    async fn acquire_at_last(&self) -> Result<Borrowed, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(StoreError::unavailable)?;
        let (connection, made) = loop {
            let Some(Idle { mut connection, made, since }) = self.take_idle() else {
                break (self.connect().await?, Instant::now());
            };
            // A connection that was lost meanwhile is dropped, and the next one is tried.
            if since.elapsed() < TRUSTED_IDLE_TIME || is_alive(&mut connection).await {
                break (connection, made);
            }
        };
        Ok(Borrowed { pool: self.clone(), inner: Some((connection, made, place)) })
    }

    /// Makes a connection.
    // Waits for a server that is starting.
    async fn connect(&self) -> Result<PgConnection, StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match PgConnection::connect_with(&self.options).await {
                Ok(mut connection) => {
                    connection.execute(SESSION).await?;
                    // Before the first use: a promotion breaks all connections, so the new history is noticed before
                    // anything of it is read or written.
                    self.note_timeline(&mut connection).await?;
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

    /// Returns the number of the server's timeline, or `None` if it is unknown.
    pub(super) fn timeline(&self) -> Option<u32> {
        Some(self.timeline.load(Ordering::Acquire)).filter(|timeline| *timeline > 0)
    }

    async fn note_timeline(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let found: Option<String> = sqlx::query_scalar(TIMELINE).fetch_one(connection).await?;
        let Some(timeline) = found.and_then(|digits| u32::from_str_radix(&digits, 16).ok()) else {
            return Ok(());
        };
        let before = self.timeline.swap(timeline, Ordering::AcqRel);
        if before != 0 && before != timeline {
            tracing::warn!(before, timeline, "the database continues on a promoted standby");
            // Fails if nothing listens.
            let _ = self.wakes.send(Wake::Everything);
        }
        Ok(())
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

    /// Closes connections that were idle for long.
    pub(super) fn close_idle(&self) {
        let mut idle = self.idle.lock();
        idle.retain(|idle| idle.since.elapsed() < IDLE_TIME);
    }

    /// Returns the server's error, or a timeout if it gives none.
    async fn why_unreachable(&self) -> StoreError {
        match tokio::time::timeout(LOOK_TIME, PgConnection::connect_with(&self.options)).await {
            Ok(Err(error)) => error.into(),
            _ => StoreError::unavailable(format!("no answer for {} seconds", ACQUIRE_TIME.as_secs())),
        }
    }

    /// Waits for the connections in use, then closes all of them.
    pub(super) async fn close(&self) {
        // Requests that wait for a permit fail from here on.
        let _all = self.places.acquire_many(CONNECTIONS).await;
        self.places.close();
        while let Some(Idle { connection, .. }) = self.take_idle() {
            let _ = connection.close().await;
        }
    }
}

/// Returns true if connecting may succeed in a moment.
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

/// A borrowed connection and its permit.
// A connection that is dropped without [`Borrowed::release`] was left in the middle of its work, because any caller may
// stop waiting at any await. It must not be reused before its transaction is rolled back.
pub(super) struct Borrowed {
    pool: Pool,
    inner: Option<(PgConnection, Instant, OwnedSemaphorePermit)>,
}

impl Borrowed {
    /// Returns a connection whose work is complete.
    pub(super) fn release(mut self) {
        if let Some((connection, made, place)) = self.inner.take() {
            self.pool.put_back(connection, made);
            drop(place);
        }
    }

    /// Closes an unresponsive connection and frees its permit.
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
        // The pending answer is read first. The driver only rolls back transactions whose BEGIN was answered, so
        // ROLLBACK is sent in any case; without a transaction it is merely a warning in the server's log.
        runtime.spawn(async move {
            let rollback = async { connection.execute("ROLLBACK").await.map(drop) };
            if let Ok(Ok(())) = tokio::time::timeout(ACQUIRE_TIME, rollback).await {
                pool.put_back(connection, made);
            }
            drop(place);
        });
    }
}
