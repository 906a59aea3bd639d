//! The listening socket: admission of connections, time limits for requests, and behavior under overload.
//!
//! A connection without a token gets one of few slots, and little time. The oldest such connections are closed if slots
//! or file handles run short, so clients with a token can still connect. The last slots are reserved for owners.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use protocol::{Role, TokenId, TokenReach};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Limits on the connections of one gateway.
#[derive(Debug, Clone)]
pub struct ListenerLimits {
    pub connections: usize,
    /// Maximum connections per token.
    pub of_token: usize,
    /// Maximum connections that have not presented a token.
    pub unauthenticated: usize,
    /// Time a connection has to present a token.
    pub token_time: Duration,
    /// Time for a request's head to arrive.
    pub head_time: Duration,
    /// Time for a request's body to arrive.
    pub body_time: Duration,
    /// Time after which a client that does not read its response is disconnected.
    pub write_time: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            of_token: 256,
            unauthenticated: 64,
            token_time: Duration::from_secs(10),
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            // Longer than the WebSocket's own write timeout, which closes with a reason the client can show.
            write_time: Duration::from_secs(20),
        }
    }
}

/// File handles kept free for the database, files and commands.
const RESERVED_HANDLES: usize = 128;
/// Pause after a failed accept. The cause, usually exhausted file handles, would make the next attempt fail immediately
/// as well.
const PAUSE: Duration = Duration::from_millis(100);
/// Minimum interval between log lines of the same kind.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Time for responses to be flushed at shutdown.
const FLUSH_TIME: Duration = Duration::from_secs(5);
const FULL: &str = "the gateway has as many connections as it can\n";

/// Accepts connections until `shutdown`, serving each in its own task.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: ListenerLimits,
    shutdown: CancellationToken,
    tasks: TaskTracker,
) {
    let pool = Arc::new(ConnectionPool::new(limits));
    let refused = Throttle::default();
    let failed = Throttle::default();
    loop {
        let accepted = tokio::select! {
            // Shutdown is checked first, so that a flood of connections cannot delay it.
            biased;
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_caused_by_peer(&error) => continue,
            Err(error) => {
                // The usual cause is running out of file handles. Unauthenticated connections are the first to go.
                let closed = pool.evict_unauthenticated();
                if let Some(times) = failed.pass() {
                    tracing::error!(%error, times, closed, "failed to accept connection");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(slot) = pool.admit(address.ip()) else {
            if let Some(times) = refused.pass() {
                let limit = pool.limits.connections;
                tracing::warn!(%address, times, limit, "refused connection: connection limit reached");
            }
            // Best effort: a new socket's send buffer has room for these few bytes.
            let _ = stream.try_write(refusal().as_bytes());
            continue;
        };
        tasks.spawn(serve_connection(stream, address, slot, routes.clone(), shutdown.clone()));
    }
}

fn refusal() -> String {
    let length = FULL.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{FULL}"
    )
}

/// Returns true if accepting failed because of the peer, so that accepting the next connection may succeed.
fn is_caused_by_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection(
    stream: TcpStream,
    address: SocketAddr,
    slot: Arc<ConnectionSlot>,
    routes: Router,
    shutdown: CancellationToken,
) {
    // Responses are small and latency matters.
    let _ = stream.set_nodelay(true);
    let limits = &slot.pool.limits;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time));
    let requests = Arc::new(Requests::default());
    let routes = TowerToHyperService::new(routes);
    let service = {
        let slot = Arc::clone(&slot);
        let requests = Arc::clone(&requests);
        service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(Arc::clone(&slot));
            let running = InProgress::begin(&requests);
            let answer = routes.call(request);
            // The response body owns the counter, so a request counts as in progress until its last byte was handed to
            // the connection.
            async move { answer.await.map(|answer| answer.map(|body| running.until_sent(body))) }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .serve_connection(TokioIo::new(Box::pin(stream)), service)
        .with_upgrades();
    tokio::pin!(connection);
    let overdue = tokio::time::sleep(limits.token_time);
    tokio::pin!(overdue);
    let mut is_timed = true;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%address, %error, "connection ended early");
                }
                return;
            }
            // Dropping the connection sends nothing: an evicted client has shown no token, and a response would take
            // time while slots are short.
            () = slot.leave.cancelled() => return,
            () = &mut overdue, if is_timed => {
                // Requests without a token do not extend the deadline, or a client could keep its slot by polling
                // `/healthz`. An authenticated connection has no deadline.
                if slot.is_unauthenticated() {
                    return;
                }
                is_timed = false;
            }
            () = shutdown.cancelled() => {
                // Shutdown waits for responses in progress, but not for incomplete requests.
                connection.as_mut().graceful_shutdown();
                // A response in progress has no time limit here, because the shutdown as a whole has one. If all
                // responses were handed over, the last one may still be in a buffer, and a short time is enough to
                // flush it.
                if requests.are_under_way() {
                    let _ = connection.as_mut().await;
                } else if requests.were_answered() {
                    let _ = tokio::time::timeout(FLUSH_TIME, connection.as_mut()).await;
                }
                return;
            }
        }
    }
}

#[derive(Default)]
struct Requests {
    under_way: AtomicUsize,
    answered: AtomicBool,
}

impl Requests {
    fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::Acquire) > 0
    }

    /// Returns true if a response was handed to the connection, which may still be sending it.
    fn were_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }
}

/// Counts a request as in progress until its response was handed to the connection.
struct InProgress(Arc<Requests>);

impl InProgress {
    fn begin(requests: &Arc<Requests>) -> Self {
        requests.under_way.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(requests))
    }

    fn until_sent(self, body: Body) -> impl HttpBody<Data = Bytes, Error = axum::Error> {
        body.map_frame(move |frame| {
            let _ = &self;
            frame
        })
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        // Stored before the count drops: a shutdown that reads zero requests in progress then also sees that one was
        // answered.
        self.0.answered.store(true, Ordering::Release);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

struct ConnectionPool {
    limits: ListenerLimits,
    slots: Mutex<Slots>,
    evicted: Throttle,
    reserved_refused: Throttle,
    of_token_refused: Throttle,
}

#[derive(Default)]
struct Slots {
    count: usize,
    next: u64,
    /// Unauthenticated connections, oldest first.
    unauthenticated: BTreeMap<u64, CancellationToken>,
    of_token: HashMap<TokenId, usize>,
}

/// Rejection of a connection whose token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionError {
    /// The remaining slots are reserved for owners.
    Full { limit: usize },
    /// The token has reached its own limit.
    OfToken { limit: usize },
}

/// Slot of a connection; dropping it frees the slot.
pub(crate) struct ConnectionSlot {
    pool: Arc<ConnectionPool>,
    number: u64,
    pub(crate) source: IpAddr,
    /// First token presented on this connection.
    token_id: OnceLock<TokenId>,
    /// Cancelled to evict the connection.
    leave: CancellationToken,
}

impl ConnectionPool {
    fn new(mut limits: ListenerLimits) -> Self {
        if let Some(handles) = file_handles() {
            let allowed = handles.saturating_sub(RESERVED_HANDLES).max(handles / 4).max(1);
            if allowed < limits.connections {
                tracing::warn!(
                    handles,
                    connections = allowed,
                    "reduced the connection limit: few file handles available"
                );
                limits.connections = allowed;
            }
        }
        // Even if every unauthenticated slot is taken, a client with a token must find a free one.
        limits.unauthenticated = limits.unauthenticated.min(limits.connections / 2).max(1);
        Self {
            limits,
            slots: Mutex::default(),
            evicted: Throttle::default(),
            reserved_refused: Throttle::default(),
            of_token_refused: Throttle::default(),
        }
    }

    /// Admits a new connection, evicting the oldest unauthenticated one if necessary. `None` if all slots belong to
    /// authenticated connections.
    fn admit(self: &Arc<Self>, source: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let leave = CancellationToken::new();
        let mut slots = self.slots.lock();
        let is_full = slots.unauthenticated.len() >= self.limits.unauthenticated
            || slots.count >= self.limits.connections;
        if is_full {
            // The evicted connection counts until its task has ended, so for a moment there may be one connection more
            // than allowed.
            let (_, oldest) = slots.unauthenticated.pop_first()?;
            oldest.cancel();
        }
        let number = slots.next;
        slots.next += 1;
        slots.count += 1;
        slots.unauthenticated.insert(number, leave.clone());
        drop(slots);
        if is_full && let Some(times) = self.evicted.pass() {
            let limit = self.limits.unauthenticated;
            tracing::warn!(%source, times, limit, "closed unauthenticated connections to admit others");
        }
        Some(Arc::new(ConnectionSlot {
            pool: Arc::clone(self),
            number,
            source,
            token_id: OnceLock::new(),
            leave,
        }))
    }

    /// Evicts the older half of the unauthenticated connections and returns their number.
    fn evict_unauthenticated(&self) -> usize {
        let mut slots = self.slots.lock();
        // Half of them is enough to accept again, and clients that are just about to show their token keep a chance.
        let count = slots.unauthenticated.len().div_ceil(2);
        for _ in 0..count {
            if let Some((_, oldest)) = slots.unauthenticated.pop_first() {
                oldest.cancel();
            }
        }
        count
    }
}

impl ConnectionSlot {
    /// Marks the connection as authenticated.
    ///
    /// Rejected if only reserved slots are left and the actor is not an unbound owner: no other token, not even the
    /// owner of one workspace, may lock everyone else out. Also rejected if the token has reached its own limit, so
    /// that a program that leaks connections cannot lock out others.
    pub(crate) fn mark_authenticated(
        &self,
        token_id: &TokenId,
        role: Role,
        reach: TokenReach,
    ) -> Result<(), AdmissionError> {
        if !self.is_unauthenticated() {
            return Ok(());
        }
        let mut slots = self.pool.slots.lock();
        let known = slots.count - slots.unauthenticated.len();
        let limits = &self.pool.limits;
        let of_token = slots.of_token.get(token_id).copied().unwrap_or_default();
        if of_token >= limits.of_token {
            drop(slots);
            if let Some(times) = self.pool.of_token_refused.pass() {
                let source = self.source;
                let limit = limits.of_token;
                tracing::warn!(%source, times, limit, %token_id, "refused connection: its token has reached its limit");
            }
            return Err(AdmissionError::OfToken { limit: limits.of_token });
        }
        let may_take_last = role == Role::Owner && reach == TokenReach::Everything;
        if !may_take_last && known >= limits.connections.saturating_sub(limits.unauthenticated) {
            drop(slots);
            if let Some(times) = self.pool.reserved_refused.pass() {
                let source = self.source;
                let limit = limits.connections;
                tracing::warn!(%source, times, limit, "refused connection: the remaining slots are reserved for owners");
            }
            return Err(AdmissionError::Full { limit: limits.connections });
        }
        slots.unauthenticated.remove(&self.number);
        // Set under the lock, so that two concurrent requests on one connection count it once.
        if self.token_id.set(token_id.clone()).is_ok() {
            *slots.of_token.entry(token_id.clone()).or_default() += 1;
        }
        Ok(())
    }

    fn is_unauthenticated(&self) -> bool {
        self.token_id.get().is_none()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut slots = self.pool.slots.lock();
        slots.count -= 1;
        slots.unauthenticated.remove(&self.number);
        let Some(token_id) = self.token_id.get() else { return };
        if let Some(of_token) = slots.of_token.get_mut(token_id) {
            *of_token -= 1;
            // Otherwise the map would keep an entry for every token that was ever used.
            if *of_token == 0 {
                slots.of_token.remove(token_id);
            }
        }
    }
}

/// Returns the number of files this process may open, after raising the soft limit.
fn file_handles() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        // Capped, because programs we start may close every possible handle one by one.
        let wanted = limit.maximum.unwrap_or(u64::MAX).min(65_536);
        if limit.current.is_some_and(|current| current < wanted) {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
        }
    }
    let current = getrlimit(Resource::Nofile).current?;
    Some(usize::try_from(current).unwrap_or(usize::MAX))
}

/// Rate limit for log lines that counts the suppressed ones.
#[derive(Default)]
struct Throttle(Mutex<(Option<Instant>, u64)>);

impl Throttle {
    fn pass(&self) -> Option<u64> {
        let mut state = self.0.lock();
        state.1 += 1;
        if state.0.is_some_and(|last| last.elapsed() < LOG_EVERY) {
            return None;
        }
        let times = std::mem::take(&mut state.1);
        state.0 = Some(Instant::now());
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn pool(connections: usize, unauthenticated: usize) -> Arc<ConnectionPool> {
        Arc::new(ConnectionPool::new(ListenerLimits {
            connections,
            unauthenticated,
            ..ListenerLimits::default()
        }))
    }

    fn is_admitted(slot: &ConnectionSlot, role: Role, reach: TokenReach) -> bool {
        slot.mark_authenticated(&TokenId::new(), role, reach).is_ok()
    }

    #[test]
    fn one_token_cannot_take_every_slot() {
        let pool = Arc::new(ConnectionPool::new(ListenerLimits {
            connections: 8,
            unauthenticated: 2,
            of_token: 3,
            ..ListenerLimits::default()
        }));
        let greedy = TokenId::new();
        let come = |token_id: &TokenId| {
            let slot = pool.admit(HERE).unwrap();
            slot.mark_authenticated(token_id, Role::Owner, TokenReach::Everything).map(|()| slot)
        };
        let mut open: Vec<_> = (0..3).map(|_| come(&greedy).unwrap()).collect();
        assert_eq!(come(&greedy).err(), Some(AdmissionError::OfToken { limit: 3 }));
        let other = come(&TokenId::new()).unwrap();
        // A second request on an authenticated connection takes no second slot.
        other.mark_authenticated(&greedy, Role::Owner, TokenReach::Everything).unwrap();
        open.pop();
        open.push(come(&greedy).unwrap());
        assert!(come(&greedy).is_err(), "the token is at its limit again");
        drop((open, other));
        assert!(pool.slots.lock().of_token.is_empty(), "closed connections leave no entries behind");
    }

    #[test]
    fn oldest_unauthenticated_connection_is_evicted() {
        let pool = pool(8, 2);
        let slots: Vec<_> = (0..3).map(|_| pool.admit(HERE).unwrap()).collect();
        let left: Vec<bool> = slots.iter().map(|slot| slot.leave.is_cancelled()).collect();
        assert_eq!(left, [true, false, false]);
    }

    #[test]
    fn last_slots_are_reserved_for_unbound_owners() {
        let pool = pool(8, 2);
        let slots: Vec<_> = (0..7)
            .map(|_| pool.admit(HERE).unwrap())
            .map(|slot| (is_admitted(&slot, Role::Reader, TokenReach::Everything), slot))
            .collect();
        let let_in: Vec<bool> = slots.iter().map(|(let_in, _)| *let_in).collect();
        assert_eq!(let_in, [true, true, true, true, true, true, false]);
        let owner_of_one = pool.admit(HERE).unwrap();
        assert!(!is_admitted(&owner_of_one, Role::Owner, TokenReach::Workspace));
        drop(owner_of_one);
        assert!(is_admitted(&pool.admit(HERE).unwrap(), Role::Owner, TokenReach::Everything));
    }

    /// A flood must be visible in the log without flooding the log itself.
    #[test]
    fn floods_are_logged_at_most_once_per_interval() {
        #[derive(Clone, Default)]
        struct Log(Arc<Mutex<Vec<u8>>>);
        impl io::Write for Log {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let flooded = pool(8, 2);
            let _silent: Vec<_> = (0..100).map(|_| flooded.admit(HERE).unwrap()).collect();
            let full = pool(8, 2);
            let readers = (0..7).map(|_| full.admit(HERE).unwrap());
            let _readers: Vec<_> = readers
                .map(|slot| (is_admitted(&slot, Role::Reader, TokenReach::Everything), slot))
                .collect();
        });
        let text = String::from_utf8(log.0.lock().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains("closed unauthenticated connections"), "{text}");
        assert!(lines[1].contains("reserved for owners"), "{text}");
    }

    #[test]
    fn authenticated_connections_are_never_evicted() {
        let pool = pool(3, 1);
        let known: Vec<_> = (0..3)
            .map(|_| pool.admit(HERE).unwrap())
            .inspect(|known| assert!(is_admitted(known, Role::Owner, TokenReach::Everything)))
            .collect();
        assert!(pool.admit(HERE).is_none(), "all connections are authenticated");
        assert!(known.iter().all(|slot| !slot.leave.is_cancelled()));
        drop(known);
        assert!(pool.admit(HERE).is_some(), "dropped slots are free again");
    }
}
