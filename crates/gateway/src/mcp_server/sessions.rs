//! Sessions of MCP clients, limited per gateway and per token.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bridge::mcp::Session;
use parking_lot::Mutex;
use protocol::{TokenId, hex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::access::Actor;

const MAX_SESSIONS: usize = 1024;
/// Maximum sessions per token. A new session replaces the least recently used one without a listener.
const MAX_OF_TOKEN: usize = 32;
/// Maximum subscribed resources per session; each is checked about once a second.
const MAX_FOLLOWED: usize = 16;
/// Idle time after which a session without a listener is considered abandoned.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Calls answered concurrently; others wait.
const MAX_WORKING: usize = 16;

pub(crate) struct McpSessions {
    open: Mutex<HashMap<String, Arc<McpSession>>>,
    working: Arc<Semaphore>,
}

/// A client and its subscriptions.
pub(super) struct McpSession {
    pub(super) id: String,
    pub(super) session: Session,
    token_id: Option<TokenId>,
    used: Mutex<Instant>,
    listening: Mutex<Listening>,
    /// Cancelled when the session ends.
    pub(super) ended: CancellationToken,
}

/// The newest event stream of a session.
#[derive(Default)]
struct Listening {
    replaced: CancellationToken,
    alive: Weak<()>,
}

/// An open event stream.
pub(super) struct Listener {
    /// Cancelled when another stream replaces this one.
    pub(super) replaced: CancellationToken,
    _alive: Arc<()>,
}

/// Failure to start a session.
pub(super) enum SessionError {
    /// The session limit is reached.
    Full { limit: usize },
    /// The system could not provide random bytes for an unguessable id.
    NoRandomness,
}

impl Default for McpSessions {
    fn default() -> Self {
        Self { open: Mutex::default(), working: Arc::new(Semaphore::new(MAX_WORKING)) }
    }
}

impl McpSessions {
    /// Starts a session for a token.
    pub(super) fn begin(&self, actor: &Actor) -> Result<Arc<McpSession>, SessionError> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| SessionError::NoRandomness)?;
        let session = Arc::new(McpSession {
            id: hex(&bytes),
            session: Session::new(MAX_FOLLOWED),
            token_id: actor.token_id.clone(),
            used: Mutex::new(Instant::now()),
            listening: Mutex::default(),
            ended: CancellationToken::new(),
        });
        let mut open = self.open.lock();
        // Idle sessions are removed here instead of by a timer: they only matter once a new session needs their place.
        open.retain(|_, session| session.is_listened_to() || session.used.lock().elapsed() < IDLE);
        let of_token: Vec<&Arc<McpSession>> =
            open.values().filter(|other| other.token_id == session.token_id).collect();
        if of_token.len() >= MAX_OF_TOKEN {
            // A session with a listener has a client that is certainly alive. Ending it would take away a subscription,
            // while a client without a stream simply starts another session.
            let idle = of_token.into_iter().filter(|other| !other.is_listened_to());
            let oldest = idle.min_by_key(|other| *other.used.lock()).map(|other| other.id.clone());
            let oldest = oldest.ok_or(SessionError::Full { limit: MAX_OF_TOKEN })?;
            open.remove(&oldest);
        }
        if open.len() >= MAX_SESSIONS {
            return Err(SessionError::Full { limit: MAX_SESSIONS });
        }
        open.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// Returns a session if it belongs to the actor's token.
    pub(super) fn find(&self, id: &str, actor: &Actor) -> Option<Arc<McpSession>> {
        let session =
            self.open.lock().get(id).filter(|session| session.token_id == actor.token_id).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session and its stream.
    pub(super) fn end(&self, session: &McpSession) {
        session.ended.cancel();
        self.open.lock().remove(&session.id);
    }

    /// Waits for a slot to answer a call.
    pub(super) async fn working(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so `None` cannot happen.
        Arc::clone(&self.working).acquire_owned().await.ok()
    }
}

impl McpSession {
    pub(super) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }

    /// Starts a new stream, which replaces the current one.
    pub(super) fn listen(&self) -> Listener {
        let replaced = CancellationToken::new();
        let alive = Arc::new(());
        let listening = Listening { replaced: replaced.clone(), alive: Arc::downgrade(&alive) };
        std::mem::replace(&mut *self.listening.lock(), listening).replaced.cancel();
        Listener { replaced, _alive: alive }
    }

    fn is_listened_to(&self) -> bool {
        self.listening.lock().alive.strong_count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor() -> Actor {
        Actor { token_id: Some(TokenId::new()), ..Actor::stdio() }
    }

    fn begin(sessions: &McpSessions, actor: &Actor) -> Arc<McpSession> {
        sessions.begin(actor).ok().unwrap()
    }

    #[test]
    fn sessions_belong_to_the_token_that_started_them() {
        let sessions = McpSessions::default();
        let ada = actor();
        let bob = actor();
        let session = begin(&sessions, &ada);
        assert!(sessions.find(&session.id, &ada).is_some());
        assert!(sessions.find(&session.id, &bob).is_none(), "not by another token");
        sessions.end(&session);
        assert!(sessions.find(&session.id, &ada).is_none());
        assert!(session.ended.is_cancelled());
    }

    #[test]
    fn one_token_cannot_use_all_sessions() {
        let sessions = McpSessions::default();
        let ada = actor();
        let bob = actor();
        let of_bob = begin(&sessions, &bob);
        let listened = begin(&sessions, &ada);
        let listener = listened.listen();
        for _ in 0..3 * MAX_OF_TOKEN {
            begin(&sessions, &ada);
        }
        assert_eq!(sessions.open.lock().len(), MAX_OF_TOKEN + 1);
        assert!(sessions.find(&of_bob.id, &bob).is_some(), "sessions of other tokens remain");
        assert!(sessions.find(&listened.id, &ada).is_some(), "it has a listener");
        drop(listener);
        assert!(!listened.is_listened_to());
    }

    #[test]
    fn sessions_with_listeners_are_never_replaced() {
        let sessions = McpSessions::default();
        let ada = actor();
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
    fn a_new_stream_replaces_the_old_one() {
        let session = begin(&McpSessions::default(), &actor());
        let first = session.listen();
        let second = session.listen();
        assert!(first.replaced.is_cancelled() && !second.replaced.is_cancelled());
    }
}
