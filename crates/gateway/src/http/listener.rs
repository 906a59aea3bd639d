//! The listening socket: who is let in, how long a request may take to arrive, and what happens when there are too
//! many connections.
//!
//! A connection that has not shown a token has one of few places, and little time. When places or file handles run short
//! the oldest such connection is closed, and people with a token still get in; the last places are the owners'.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use agent::Reach;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use protocol::{Role, TokenId};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bounds of the connections of one gateway.
#[derive(Debug, Clone)]
pub struct ListenerLimits {
    /// Most connections at once.
    pub connections: usize,
    /// Most connections at once that have shown the same token.
    pub of_token: usize,
    /// Most connections at once that have not shown a token.
    pub unauthenticated: usize,
    /// How long a connection may take to show a token.
    pub token_time: Duration,
    /// How long the head of a request may take to arrive.
    pub head_time: Duration,
    /// How long the body of a request may take to arrive.
    pub body_time: Duration,
    /// How long a client may take none of an answer that is waiting.
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
            // Longer than a WebSocket's own patience, which says why it closes.
            write_time: Duration::from_secs(20),
        }
    }
}

/// File handles that connections leave to the database, to files and to commands.
const RESERVED_HANDLES: usize = 128;
/// How long accepting pauses after the system refused: it would refuse at once again.
const PAUSE: Duration = Duration::from_millis(100);
/// At most one line of a kind is logged in this time.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// How long the end of an answer is waited for at shutdown.
const FLUSH_TIME: Duration = Duration::from_secs(5);
const FULL: &str = "the gateway has as many connections as it can\n";

/// Accepts connections until `shutdown`, and serves each on a task of its own.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: ListenerLimits,
    shutdown: CancellationToken,
    tasks: TaskTracker,
) {
    let pool = Arc::new(ConnectionPool::new(limits));
    let (refused, failed) = (Throttle::default(), Throttle::default());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                // Out of file handles, usually: those of unauthenticated are the first to go.
                let closed = pool.evict_unauthenticated();
                if let Some(times) = failed.pass() {
                    tracing::error!(%error, times, closed, "could not accept a connection");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(slot) = pool.admit(address.ip()) else {
            if let Some(times) = refused.pass() {
                let limit = pool.limits.connections;
                tracing::warn!(%address, times, limit, "refused a connection: there are as many as allowed");
            }
            // Best effort: the socket is new, so that its buffer takes the few bytes.
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

/// Whether accepting failed because of the one who connected, and the next one may fare better.
fn is_of_one_connection(error: &io::Error) -> bool {
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
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let limits = &slot.pool.limits;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time));
    let requests = Arc::new(Requests::default());
    let routes = TowerToHyperService::new(routes);
    let service = {
        let (slot, requests) = (Arc::clone(&slot), Arc::clone(&requests));
        service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(Arc::clone(&slot));
            let running = InProgress::begin(&requests);
            let answer = routes.call(request);
            // The body holds the count: an answer is under way until the last of it was handed to the connection.
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
                    tracing::debug!(%address, %error, "a connection ended early");
                }
                return;
            }
            () = slot.leave.cancelled() => return,
            () = &mut overdue, if is_timed => {
                if slot.is_unauthenticated() {
                    return;
                }
                is_timed = false;
            }
            () = shutdown.cancelled() => {
                // Incomplete requests are not waited for, answers are.
                connection.as_mut().graceful_shutdown();
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

/// The requests of one connection.
#[derive(Default)]
struct Requests {
    under_way: AtomicUsize,
    answered: AtomicBool,
}

impl Requests {
    fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::Acquire) > 0
    }

    /// Whether an answer was handed to the connection, which may still be sending it.
    fn were_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }
}

/// Counts a request until its answer was handed to the connection.
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
        self.0.answered.store(true, Ordering::Release);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Counts connections.
struct ConnectionPool {
    limits: ListenerLimits,
    slots: Mutex<Slots>,
    evicted: Throttle,
    turned_away: Throttle,
    of_token_refused: Throttle,
}

#[derive(Default)]
struct Slots {
    count: usize,
    next: u64,
    /// In the order in which they came.
    unauthenticated: BTreeMap<u64, CancellationToken>,
    /// How many have shown each token.
    of_token: HashMap<TokenId, usize>,
}

/// Why a connection whose token is good is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The places that are left are not for this token.
    Full {
        /// Most connections of the gateway.
        limit: usize,
    },
    /// As many connections as one token may have are open with it.
    OfToken {
        /// Most connections of a token.
        limit: usize,
    },
}

/// A connection's place, taken for as long as this lives.
pub(crate) struct ConnectionSlot {
    pool: Arc<ConnectionPool>,
    number: u64,
    /// Where the connection comes from.
    pub(crate) source: IpAddr,
    /// The token that it has shown first.
    token_id: OnceLock<TokenId>,
    /// Cancelled when the place is needed for somebody else.
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
                    "few file handles: fewer connections are accepted"
                );
                limits.connections = allowed;
            }
        }
        // Somebody with a token must find a place beside all that have none.
        limits.unauthenticated = limits.unauthenticated.min(limits.connections / 2).max(1);
        Self {
            limits,
            slots: Mutex::default(),
            evicted: Throttle::default(),
            turned_away: Throttle::default(),
            of_token_refused: Throttle::default(),
        }
    }

    /// A place for a new connection, that of the oldest without a token where there is no other; none when all have shown
    /// one.
    fn admit(self: &Arc<Self>, source: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let leave = CancellationToken::new();
        let mut slots = self.lock();
        let is_full = slots.unauthenticated.len() >= self.limits.unauthenticated
            || slots.count >= self.limits.connections;
        if is_full {
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
            tracing::warn!(%source, times, limit, "closed connections without a token, to make room for others");
        }
        Some(Arc::new(ConnectionSlot {
            pool: Arc::clone(self),
            number,
            source,
            token_id: OnceLock::new(),
            leave,
        }))
    }

    /// Ends the older half of the unauthenticated, and says how many those were.
    fn evict_unauthenticated(&self) -> usize {
        let mut slots = self.lock();
        let count = slots.unauthenticated.len().div_ceil(2);
        for _ in 0..count {
            if let Some((_, oldest)) = slots.unauthenticated.pop_first() {
                oldest.cancel();
            }
        }
        count
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Its token was good. Refused when the places that are left are those of owners of everything and of whoever comes
    /// next: nobody else must be able to keep everybody out, not even the owner of one workspace. Refused also when the
    /// token has its share of the places, whoever has it: a program that leaks connections must not lock out all others.
    pub(crate) fn mark_authenticated(
        &self,
        token_id: &TokenId,
        role: Role,
        reach: Reach,
    ) -> Result<(), NoPlace> {
        if !self.is_unauthenticated() {
            return Ok(());
        }
        let mut slots = self.pool.lock();
        let known = slots.count - slots.unauthenticated.len();
        let limits = &self.pool.limits;
        let of_token = slots.of_token.get(token_id).copied().unwrap_or_default();
        if of_token >= limits.of_token {
            drop(slots);
            if let Some(times) = self.pool.of_token_refused.pass() {
                let (source, limit) = (self.source, limits.of_token);
                tracing::warn!(%source, times, limit, %token_id, "refused a connection: its token has as many as allowed");
            }
            return Err(NoPlace::OfToken { limit: limits.of_token });
        }
        let may_take_last = role == Role::Owner && reach == Reach::Everything;
        if !may_take_last && known >= limits.connections.saturating_sub(limits.unauthenticated) {
            drop(slots);
            if let Some(times) = self.pool.turned_away.pass() {
                let (source, limit) = (self.source, limits.connections);
                tracing::warn!(%source, times, limit, "refused a token: only places for owners are left");
            }
            return Err(NoPlace::Full { limit: limits.connections });
        }
        slots.unauthenticated.remove(&self.number);
        // Under the lock, so that two requests of a connection count it once.
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
        let mut slots = self.pool.lock();
        slots.count -= 1;
        slots.unauthenticated.remove(&self.number);
        let Some(token_id) = self.token_id.get() else { return };
        if let Some(of_token) = slots.of_token.get_mut(token_id) {
            *of_token -= 1;
            if *of_token == 0 {
                slots.of_token.remove(token_id);
            }
        }
    }
}

/// How many files this process may have open. The limit that an ordinary user may raise is raised first.
fn file_handles() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        // Not more than anybody needs: programs we start may close every handle there could be, one by one.
        let wanted = limit.maximum.unwrap_or(u64::MAX).min(65_536);
        if limit.current.is_some_and(|current| current < wanted) {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
        }
    }
    let current = getrlimit(Resource::Nofile).current?;
    Some(usize::try_from(current).unwrap_or(usize::MAX))
}

/// Lets one line of a kind through in a while, with how often it happened.
#[derive(Default)]
struct Throttle(Mutex<(Option<Instant>, u64)>);

impl Throttle {
    fn pass(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether somebody with a token of their own is let in.
    fn lets_in(slot: &ConnectionSlot, role: Role, reach: Reach) -> bool {
        slot.mark_authenticated(&TokenId::new(), role, reach).is_ok()
    }

    #[test]
    fn one_token_does_not_take_every_place() {
        let pool = Arc::new(ConnectionPool::new(ListenerLimits {
            connections: 8,
            unauthenticated: 2,
            of_token: 3,
            ..ListenerLimits::default()
        }));
        let greedy = TokenId::new();
        let come = |token_id: &TokenId| {
            let slot = pool.admit(HERE).unwrap();
            slot.mark_authenticated(token_id, Role::Owner, Reach::Everything).map(|()| slot)
        };
        let mut open: Vec<_> = (0..3).map(|_| come(&greedy).unwrap()).collect();
        assert_eq!(come(&greedy).err(), Some(NoPlace::OfToken { limit: 3 }));
        let other = come(&TokenId::new()).unwrap();
        // A second request of the same connection takes no second place.
        other.mark_authenticated(&greedy, Role::Owner, Reach::Everything).unwrap();
        open.pop();
        open.push(come(&greedy).unwrap());
        assert!(come(&greedy).is_err(), "it has its three again");
        drop((open, other));
        assert!(pool.lock().of_token.is_empty(), "nothing is kept of those who left");
    }

    #[test]
    fn the_oldest_without_a_token_makes_room() {
        let pool = pool(8, 2);
        let slots: Vec<_> = (0..3).map(|_| pool.admit(HERE).unwrap()).collect();
        let left: Vec<bool> = slots.iter().map(|slot| slot.leave.is_cancelled()).collect();
        assert_eq!(left, [true, false, false]);
    }

    #[test]
    fn the_last_places_are_not_for_readers() {
        let pool = pool(8, 2);
        let slots: Vec<_> = (0..7)
            .map(|_| pool.admit(HERE).unwrap())
            .map(|slot| (lets_in(&slot, Role::Reader, Reach::Everything), slot))
            .collect();
        let let_in: Vec<bool> = slots.iter().map(|(let_in, _)| *let_in).collect();
        assert_eq!(let_in, [true, true, true, true, true, true, false]);
        let owner_of_one = pool.admit(HERE).unwrap();
        assert!(!lets_in(&owner_of_one, Role::Owner, Reach::Workspace));
        drop(owner_of_one);
        assert!(lets_in(&pool.admit(HERE).unwrap(), Role::Owner, Reach::Everything));
    }

    /// Whoever looks at the log of a gateway that is flooded sees it.
    #[test]
    fn a_flood_is_logged_once_in_a_while() {
        #[derive(Clone, Default)]
        struct Log(Arc<Mutex<Vec<u8>>>);
        impl io::Write for Log {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
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
            let _readers: Vec<_> =
                readers.map(|slot| (lets_in(&slot, Role::Reader, Reach::Everything), slot)).collect();
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains("closed connections without a token"), "{text}");
        assert!(lines[1].contains("only places for owners are left"), "{text}");
    }

    #[test]
    fn whoever_has_shown_a_token_stays() {
        let pool = pool(3, 1);
        let known: Vec<_> = (0..3)
            .map(|_| pool.admit(HERE).unwrap())
            .inspect(|known| assert!(lets_in(known, Role::Owner, Reach::Everything)))
            .collect();
        assert!(pool.admit(HERE).is_none(), "all have shown a token");
        assert!(known.iter().all(|slot| !slot.leave.is_cancelled()));
        drop(known);
        assert!(pool.admit(HERE).is_some(), "places are given back");
    }
}
