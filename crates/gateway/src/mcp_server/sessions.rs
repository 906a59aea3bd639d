//! The sessions of MCP clients, so many and no more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bridge::mcp::Session;
use protocol::{TokenId, hex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::access::Actor;

/// Most sessions of a gateway.
const MAX_SESSIONS: usize = 1024;
/// Most sessions of one token: of those that nobody listens on, the one that was used longest ago makes room.
const MAX_OF_TOKEN: usize = 32;
/// Most resources that are followed in one session. Each is looked at every second or so.
const MAX_FOLLOWED: usize = 16;
/// A session that was not used for so long, and on which nobody listens, has been forgotten by its client.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Calls that are answered at the same time; others wait.
const MAX_WORKING: usize = 16;

/// The open sessions.
pub(crate) struct McpSessions {
    open: Mutex<HashMap<String, Arc<McpSession>>>,
    working: Arc<Semaphore>,
}

/// A client and what it follows.
pub(super) struct McpSession {
    pub(super) id: String,
    pub(super) session: Session,
    token_id: Option<TokenId>,
    used: Mutex<Instant>,
    listening: Mutex<Listening>,
    /// Cancelled when the session is over.
    pub(super) ended: CancellationToken,
}

/// The stream on which a client listens: the newest one.
#[derive(Default)]
struct Listening {
    replaced: CancellationToken,
    alive: Weak<()>,
}

/// A stream, for as long as it is open.
pub(super) struct Listener {
    /// Cancelled when another took its place.
    pub(super) replaced: CancellationToken,
    _alive: Arc<()>,
}

/// Why no session begins.
pub(super) enum NoSession {
    /// There are as many as there may be.
    Full {
        /// How many.
        limit: usize,
    },
    /// The system gives no names that nobody can guess.
    NoRandomness,
}

impl Default for McpSessions {
    fn default() -> Self {
        Self { open: Mutex::default(), working: Arc::new(Semaphore::new(MAX_WORKING)) }
    }
}

impl McpSessions {
    /// Begins a session for a token.
    pub(super) fn begin(&self, actor: &Actor) -> Result<Arc<McpSession>, NoSession> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| NoSession::NoRandomness)?;
        let session = Arc::new(McpSession {
            id: hex(&bytes),
            session: Session::new(MAX_FOLLOWED),
            token_id: actor.token_id.clone(),
            used: Mutex::new(Instant::now()),
            listening: Mutex::default(),
            ended: CancellationToken::new(),
        });
        let mut open = lock(&self.open);
        open.retain(|_, session| session.is_listened_to() || lock(&session.used).elapsed() < IDLE);
        let of_token: Vec<&Arc<McpSession>> =
            open.values().filter(|other| other.token_id == session.token_id).collect();
        if of_token.len() >= MAX_OF_TOKEN {
            let idle = of_token.into_iter().filter(|other| !other.is_listened_to());
            let oldest = idle.min_by_key(|other| *lock(&other.used)).map(|other| other.id.clone());
            let oldest = oldest.ok_or(NoSession::Full { limit: MAX_OF_TOKEN })?;
            open.remove(&oldest);
        }
        if open.len() >= MAX_SESSIONS {
            return Err(NoSession::Full { limit: MAX_SESSIONS });
        }
        open.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// A session of this token's.
    pub(super) fn find(&self, id: &str, actor: &Actor) -> Option<Arc<McpSession>> {
        let session =
            lock(&self.open).get(id).filter(|session| session.token_id == actor.token_id).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session, and its stream.
    pub(super) fn end(&self, session: &McpSession) {
        session.ended.cancel();
        lock(&self.open).remove(&session.id);
    }

    /// A place among those whose calls are answered.
    pub(super) async fn working(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        Arc::clone(&self.working).acquire_owned().await.ok()
    }
}

impl McpSession {
    pub(super) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Listens from now on, instead of whoever did.
    pub(super) fn listen(&self) -> Listener {
        let (replaced, alive) = (CancellationToken::new(), Arc::new(()));
        let listening = Listening { replaced: replaced.clone(), alive: Arc::downgrade(&alive) };
        std::mem::replace(&mut *lock(&self.listening), listening).replaced.cancel();
        Listener { replaced, _alive: alive }
    }

    fn is_listened_to(&self) -> bool {
        lock(&self.listening).alive.strong_count() > 0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somebody() -> Actor {
        Actor { token_id: Some(TokenId::new()), ..Actor::stdio() }
    }

    fn begin(sessions: &McpSessions, actor: &Actor) -> Arc<McpSession> {
        sessions.begin(actor).ok().unwrap()
    }

    #[test]
    fn a_session_is_found_by_whoever_began_it() {
        let (sessions, ada, bob) = (McpSessions::default(), somebody(), somebody());
        let session = begin(&sessions, &ada);
        assert!(sessions.find(&session.id, &ada).is_some());
        assert!(sessions.find(&session.id, &bob).is_none(), "not by another token");
        sessions.end(&session);
        assert!(sessions.find(&session.id, &ada).is_none());
        assert!(session.ended.is_cancelled());
    }

    #[test]
    fn one_token_does_not_fill_the_gateway() {
        let (sessions, ada, bob) = (McpSessions::default(), somebody(), somebody());
        let of_bob = begin(&sessions, &bob);
        let listened = begin(&sessions, &ada);
        let listener = listened.listen();
        for _ in 0..3 * MAX_OF_TOKEN {
            begin(&sessions, &ada);
        }
        assert_eq!(lock(&sessions.open).len(), MAX_OF_TOKEN + 1);
        assert!(sessions.find(&of_bob.id, &bob).is_some(), "others are left alone");
        assert!(sessions.find(&listened.id, &ada).is_some(), "somebody listens");
        drop(listener);
        assert!(!listened.is_listened_to());
    }

    #[test]
    fn a_token_whose_sessions_are_all_listened_to_has_to_end_one() {
        let (sessions, ada) = (McpSessions::default(), somebody());
        let open: Vec<_> = (0..MAX_OF_TOKEN)
            .map(|_| {
                let session = begin(&sessions, &ada);
                let listener = session.listen();
                (session, listener)
            })
            .collect();
        assert!(sessions.begin(&ada).is_err());
        sessions.end(&open[0].0);
        assert!(sessions.begin(&ada).is_ok());
    }

    #[test]
    fn the_newest_stream_is_the_one() {
        let session = begin(&McpSessions::default(), &somebody());
        let first = session.listen();
        let second = session.listen();
        assert!(first.replaced.is_cancelled() && !second.replaced.is_cancelled());
    }
}
