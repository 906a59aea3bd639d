//! The open connections, so that a revoked token can be shown the door.

pub(crate) mod peer;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{Timestamp, TokenId};
use rpc::{CloseReason, Outgoing};

use crate::access::Actor;

type Open = Mutex<HashMap<u64, (Arc<Actor>, Outgoing)>>;

#[derive(Default)]
pub(crate) struct Connections {
    open: Arc<Open>,
    next: AtomicU64,
}

/// A connection's entry, gone when dropped.
pub(crate) struct Registered {
    open: Arc<Open>,
    number: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

impl Connections {
    pub(crate) fn register(&self, actor: Arc<Actor>, outgoing: Outgoing) -> Registered {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (actor, outgoing));
        Registered { open: Arc::clone(&self.open), number }
    }

    /// Closes the connections whose token's time is over.
    pub(crate) fn close_expired(&self, now: Timestamp) {
        for (actor, outgoing) in self.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if actor.is_expired(now) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }

    /// The tokens with which connections were opened, each once.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let tokens: HashSet<&TokenId> =
            open.values().filter_map(|(actor, _)| actor.token_id.as_ref()).collect();
        tokens.into_iter().cloned().collect()
    }

    /// Closes the connections that were opened with one of these tokens.
    pub(crate) fn close_with(&self, tokens: &HashSet<TokenId>) {
        for (actor, outgoing) in self.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if actor.token_id.as_ref().is_some_and(|token| tokens.contains(token)) {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }
}
