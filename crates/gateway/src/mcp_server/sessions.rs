//! Sessions of MCP clients, limited per gateway and per token.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use mcp_server::Session;
use parking_lot::Mutex;
use protocol::{Role, Timestamp, TokenId, hex};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::workers::Workers;
use crate::access::Actor;
use crate::access::per_token::PerToken;

const MAX_SESSIONS: usize = 1024;
/// Sessions that only owners may start, so that they can still find out who uses the others.
const RESERVED_FOR_OWNERS: usize = 64;
/// Maximum sessions per token. A new session replaces the least recently used one without a listener.
const MAX_OF_TOKEN: usize = 32;
/// Maximum subscribed resources per session; each is checked about once a second.
pub(super) const MAX_FOLLOWED: usize = 16;
/// Idle time after which a session without a listener is considered abandoned.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Calls answered concurrently; others wait.
const MAX_WORKING: usize = 16;
/// Calls of one token answered concurrently, so that a token with many calls does not delay those of others.
const MAX_WORKING_OF_TOKEN: usize = 4;

pub(crate) struct McpSessions {
    open: Mutex<HashMap<String, Arc<McpSession>>>,
    working: Arc<Semaphore>,
    working_of_token: PerToken,
    workers: OnceLock<Workers>,
}

/// A client and its subscriptions.
pub(super) struct McpSession {
    pub(super) id: String,
    pub(super) session: Arc<Session>,
    token_id: Option<TokenId>,
    /// End of the token's validity.
    expires_at: Option<Timestamp>,
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
        Self {
            open: Mutex::default(),
            working: Arc::new(Semaphore::new(MAX_WORKING)),
            working_of_token: PerToken::new(MAX_WORKING_OF_TOKEN),
            workers: OnceLock::new(),
        }
    }
}

impl McpSessions {
    /// Starts a session for a token.
    pub(super) fn begin(&self, actor: &Actor) -> Result<Arc<McpSession>, SessionError> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| SessionError::NoRandomness)?;
        let session = Arc::new(McpSession {
            id: hex(&bytes),
            session: Arc::new(Session::new(MAX_FOLLOWED)),
            token_id: actor.token_id.clone(),
            expires_at: actor.expires_at,
            used: Mutex::new(Instant::now()),
            listening: Mutex::default(),
            ended: CancellationToken::new(),
        });
        let mut open = self.open.lock();
        // Idle sessions are removed here instead of by a timer: they only matter once a new session needs their place.
        open.retain(|_, session| session.is_listened_to() || session.used.lock().elapsed() < IDLE);
        let is_own = |other: &McpSession| other.token_id == session.token_id;
        let limit = if actor.role == Role::Owner { MAX_SESSIONS } else { MAX_SESSIONS - RESERVED_FOR_OWNERS };
        let of_token = open.values().filter(|other| is_own(other)).count();
        // A full gateway takes the place from whichever client has been idle for the longest time: with enough tokens,
        // sessions that their clients forgot would otherwise lock everyone out until they expire.
        if of_token >= MAX_OF_TOKEN {
            let replaced = oldest_idle(&open, is_own);
            open.remove(&replaced.ok_or(SessionError::Full { limit: MAX_OF_TOKEN })?);
        } else if open.len() >= limit {
            let replaced = oldest_idle(&open, |_| true);
            open.remove(&replaced.ok_or(SessionError::Full { limit })?);
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

    /// Returns the distinct tokens of all sessions.
    pub(crate) fn tokens(&self) -> HashSet<TokenId> {
        self.open.lock().values().filter_map(|session| session.token_id.clone()).collect()
    }

    /// Ends all sessions of `tokens`.
    pub(crate) fn end_with(&self, tokens: &HashSet<TokenId>) {
        self.end_all(|session| session.token_id.as_ref().is_some_and(|token| tokens.contains(token)));
    }

    /// Ends the sessions of expired tokens.
    pub(crate) fn end_expired(&self, now: Timestamp) {
        self.end_all(|session| session.expires_at.is_some_and(|at| at <= now));
    }

    fn end_all(&self, is_ended: impl Fn(&McpSession) -> bool) {
        self.open.lock().retain(|_, session| {
            let is_ended = is_ended(session);
            if is_ended {
                session.ended.cancel();
            }
            !is_ended
        });
    }

    /// Returns the limits on concurrent work for a token, the narrowest first.
    pub(super) fn working(&self, actor: &Actor) -> Vec<Arc<Semaphore>> {
        vec![self.working_of_token.share(actor.token_id.as_ref()), Arc::clone(&self.working)]
    }

    /// Returns the threads for messages of MCP clients, which are started for the first of them.
    pub(super) fn workers(&self) -> Handle {
        self.workers.get_or_init(Workers::start).handle()
    }
}

/// Returns the id of the session that was used least recently and has no listener.
// A session with a listener has a client that is certainly alive. Ending it would take away a subscription, while a client
// without a stream simply starts another session.
fn oldest_idle(
    open: &HashMap<String, Arc<McpSession>>,
    may_be: impl Fn(&McpSession) -> bool,
) -> Option<String> {
    let idle = open.values().filter(|session| may_be(session) && !session.is_listened_to());
    idle.min_by_key(|session| *session.used.lock()).map(|session| session.id.clone())
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
    fn a_full_gateway_replaces_the_oldest_idle_session() {
        let sessions = McpSessions::default();
        let actors: Vec<Actor> =
            (0..MAX_SESSIONS / MAX_OF_TOKEN).map(|_| Actor { role: Role::Reader, ..actor() }).collect();
        let oldest = begin(&sessions, &actors[0]);
        for number in 1..MAX_SESSIONS {
            begin(&sessions, &actors[number % actors.len()]);
        }
        assert_eq!(sessions.open.lock().len(), MAX_SESSIONS - RESERVED_FOR_OWNERS);
        assert!(sessions.find(&oldest.id, &actors[0]).is_none(), "it gave way");
    }

    #[test]
    fn owners_have_reserved_sessions() {
        let sessions = McpSessions::default();
        let mut open = Vec::new();
        while let Ok(session) = sessions.begin(&Actor { role: Role::Editor, ..actor() }) {
            let listener = session.listen();
            open.push((session, listener));
        }
        assert_eq!(open.len(), MAX_SESSIONS - RESERVED_FOR_OWNERS);
        assert!(sessions.begin(&actor()).is_ok());
    }

    #[test]
    fn sessions_end_with_their_token() {
        let sessions = McpSessions::default();
        let ada = actor();
        let bob = actor();
        let of_ada = begin(&sessions, &ada);
        let of_bob = begin(&sessions, &bob);
        sessions.end_with(&HashSet::from_iter(ada.token_id.clone()));
        assert!(of_ada.ended.is_cancelled() && sessions.find(&of_ada.id, &ada).is_none());
        assert!(!of_bob.ended.is_cancelled() && sessions.find(&of_bob.id, &bob).is_some());
    }

    #[test]
    fn a_new_stream_replaces_the_old_one() {
        let session = begin(&McpSessions::default(), &actor());
        let first = session.listen();
        let second = session.listen();
        assert!(first.replaced.is_cancelled() && !second.replaced.is_cancelled());
    }
}
