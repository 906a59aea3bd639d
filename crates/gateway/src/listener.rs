//! The listening socket: who is let in, how long a request may take to arrive, and what happens when there are too
//! many connections.
//!
//! Whoever has not shown a token is a *stranger*. Strangers have few places and little time, and when places or file
//! handles run short the oldest of them leaves, so that people with a token still get in.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bounds of the connections of one gateway.
#[derive(Debug, Clone)]
pub struct ListenerLimits {
    /// Most connections at once.
    pub connections: usize,
    /// Most connections at once that have not shown a token.
    pub strangers: usize,
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
            strangers: 64,
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
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: text/plain\r\n\
    content-length: 45\r\nconnection: close\r\n\r\nthe gateway has as many connections as it can\n";

/// Accepts connections until `shutdown`, and serves each on a task of its own.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: ListenerLimits,
    shutdown: CancellationToken,
    tasks: TaskTracker,
) {
    let doors = Arc::new(Doors::new(limits));
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
                // Out of file handles, usually: those of strangers are the first to go.
                let closed = doors.show_out_strangers();
                if let Some(times) = failed.pass() {
                    tracing::error!(%error, times, closed, "could not accept a connection");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(visitor) = doors.enter() else {
            if let Some(times) = refused.pass() {
                let limit = doors.limits.connections;
                tracing::warn!(%address, times, limit, "refused a connection: there are as many as allowed");
            }
            // Best effort: the socket is new, so that its buffer takes the few bytes.
            let _ = stream.try_write(FULL);
            continue;
        };
        tasks.spawn(serve_connection(stream, address, visitor, routes.clone(), shutdown.clone()));
    }
}

/// Whether accepting failed because of the one who connected, and the next one may fare better.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection(
    stream: TcpStream,
    address: SocketAddr,
    visitor: Arc<Visitor>,
    routes: Router,
    shutdown: CancellationToken,
) {
    // Answers are small and waited for.
    let _ = stream.set_nodelay(true);
    let limits = &visitor.doors.limits;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time));
    let requests = Arc::new(AtomicUsize::new(0));
    let routes = TowerToHyperService::new(routes);
    let service = {
        let (visitor, requests) = (Arc::clone(&visitor), Arc::clone(&requests));
        service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(Arc::clone(&visitor));
            let running = InProgress::begin(&requests);
            let answer = routes.call(request);
            async move {
                let _running = running;
                answer.await
            }
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
            () = visitor.leave.cancelled() => return,
            () = &mut overdue, if is_timed => {
                if visitor.is_stranger() {
                    return;
                }
                is_timed = false;
            }
            () = shutdown.cancelled() => {
                // A request that is only half there is nobody's work: it is not waited for.
                if requests.load(Ordering::Acquire) > 0 {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.as_mut().await;
                }
                return;
            }
        }
    }
}

/// Counts a request for as long as it is being answered.
struct InProgress(Arc<AtomicUsize>);

impl InProgress {
    fn begin(requests: &Arc<AtomicUsize>) -> Self {
        requests.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(requests))
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Counts who is in.
struct Doors {
    limits: ListenerLimits,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    count: usize,
    next: u64,
    /// In the order in which they came.
    strangers: BTreeMap<u64, CancellationToken>,
}

/// A connection, inside for as long as this lives.
pub(crate) struct Visitor {
    doors: Arc<Doors>,
    number: u64,
    is_known: AtomicBool,
    /// Cancelled when the place is needed for somebody else.
    leave: CancellationToken,
}

impl Doors {
    fn new(mut limits: ListenerLimits) -> Self {
        if let Some(handles) = file_handles() {
            let most = handles.saturating_sub(RESERVED_HANDLES).max(handles / 4).max(1);
            if most < limits.connections {
                tracing::warn!(
                    handles,
                    connections = most,
                    "few file handles: fewer connections are accepted"
                );
                limits.connections = most;
            }
        }
        // Somebody with a token must find a place beside all strangers.
        limits.strangers = limits.strangers.min(limits.connections / 2).max(1);
        Self { limits, inside: Mutex::default() }
    }

    /// A place for a new connection, that of the oldest stranger where there is no other; none when everybody inside
    /// has shown a token.
    fn enter(self: &Arc<Self>) -> Option<Arc<Visitor>> {
        let leave = CancellationToken::new();
        let mut inside = self.lock();
        if inside.strangers.len() >= self.limits.strangers || inside.count >= self.limits.connections {
            let (_, oldest) = inside.strangers.pop_first()?;
            oldest.cancel();
        }
        let number = inside.next;
        inside.next += 1;
        inside.count += 1;
        inside.strangers.insert(number, leave.clone());
        drop(inside);
        Some(Arc::new(Visitor { doors: Arc::clone(self), number, is_known: AtomicBool::new(false), leave }))
    }

    /// Ends the older half of the strangers, and says how many those were.
    fn show_out_strangers(&self) -> usize {
        let mut inside = self.lock();
        let count = inside.strangers.len().div_ceil(2);
        for _ in 0..count {
            if let Some((_, stranger)) = inside.strangers.pop_first() {
                stranger.cancel();
            }
        }
        count
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visitor {
    /// Its token was good.
    pub(crate) fn shows_a_token(&self) {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            self.doors.lock().strangers.remove(&self.number);
        }
    }

    fn is_stranger(&self) -> bool {
        !self.is_known.load(Ordering::Acquire)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let mut inside = self.doors.lock();
        inside.count -= 1;
        inside.strangers.remove(&self.number);
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

    fn doors(connections: usize, strangers: usize) -> Arc<Doors> {
        Arc::new(Doors::new(ListenerLimits { connections, strangers, ..ListenerLimits::default() }))
    }

    #[test]
    fn the_oldest_stranger_makes_room() {
        let doors = doors(8, 2);
        let visitors: Vec<_> = (0..3).map(|_| doors.enter().unwrap()).collect();
        let left: Vec<bool> = visitors.iter().map(|visitor| visitor.leave.is_cancelled()).collect();
        assert_eq!(left, [true, false, false]);
    }

    #[test]
    fn whoever_has_shown_a_token_stays() {
        let doors = doors(3, 1);
        let known: Vec<_> =
            (0..3).map(|_| doors.enter().unwrap()).inspect(|known| known.shows_a_token()).collect();
        assert!(doors.enter().is_none(), "everybody inside has a token");
        assert!(known.iter().all(|visitor| !visitor.leave.is_cancelled()));
        drop(known);
        assert!(doors.enter().is_some(), "places are given back");
    }
}
