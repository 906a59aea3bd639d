//! Registry of open connections, which are closed when their token is revoked or expires.

pub(crate) mod peer;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use protocol::{Timestamp, TokenId};
use rpc::{CloseReason, Outgoing};

use crate::access::Actor;
use crate::console::sessions::{SessionKey, Sessions};

type Open = Mutex<HashMap<u64, (Arc<Actor>, Outgoing)>>;

#[derive(Default)]
pub(crate) struct Connections {
    open: Arc<Open>,
    next: AtomicU64,
}

/// Registration of an open connection; dropping it removes the entry.
pub(crate) struct Registered {
    open: Arc<Open>,
    number: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.open.lock().remove(&self.number);
    }
}

impl Connections {
    pub(crate) fn register(&self, actor: Arc<Actor>, outgoing: Outgoing) -> Registered {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(number, (actor, outgoing));
        Registered { open: Arc::clone(&self.open), number }
    }

    pub(crate) fn close_expired(&self, now: Timestamp) {
        // Closing only sets a flag for the connection's own task, so the registry can stay locked. The task removes its
        // entry later, when it drops its registration.
        for (actor, outgoing) in self.open.lock().values() {
            if actor.is_expired(now) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }

    /// Closes all connections, whose clients must reload what they know.
    pub(crate) fn close_all(&self) {
        for (_, outgoing) in self.open.lock().values() {
            outgoing.close(CloseReason::Reload);
        }
    }

    /// Returns the distinct tokens of all open connections.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        let open = self.open.lock();
        let tokens: HashSet<&TokenId> =
            open.values().filter_map(|(actor, _)| actor.token_id.as_ref()).collect();
        tokens.into_iter().cloned().collect()
    }

    /// Closes the connections of a console session that a person has ended.
    pub(crate) fn close_session(&self, key: &SessionKey) {
        for (actor, outgoing) in self.open.lock().values() {
            if actor.console_session.as_ref() == Some(key) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }

    /// Closes the connections of console sessions that have expired.
    pub(crate) fn close_expired_sessions(&self, sessions: &Sessions, now: Instant) {
        for (actor, outgoing) in self.open.lock().values() {
            if actor.console_session.as_ref().is_some_and(|key| !sessions.is_open(key, now)) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }

    /// Closes all connections that use one of `tokens`.
    pub(crate) fn close_with(&self, tokens: &HashSet<TokenId>) {
        for (actor, outgoing) in self.open.lock().values() {
            if actor.token_id.as_ref().is_some_and(|token| tokens.contains(token)) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }
}
