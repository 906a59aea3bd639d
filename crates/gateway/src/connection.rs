//! The open connections, so that a revoked token can be shown the door.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::Timestamp;
use rpc::{CloseReason, Outgoing};

use crate::access::{Actor, Authenticator};

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

    /// Closes the connections whose token is no longer valid.
    pub(crate) async fn close_revoked(&self, access: &Authenticator) {
        let open: Vec<(Arc<Actor>, Outgoing)> =
            self.open.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for (actor, outgoing) in open {
            // A database that does not answer now revokes nothing; the next request asks again.
            if let Ok(false) = access.is_still_valid(&actor).await {
                outgoing.close(CloseReason::Unauthenticated);
            }
        }
    }
}
