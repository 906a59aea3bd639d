//! State of one connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use protocol::WorkspaceId;
use rpc::Outgoing;

use crate::access::Actor;
use crate::feed::subscription::Subscription;

/// Remote side of a connection or of a single HTTP request.
pub(crate) struct Peer {
    pub(crate) actor: Arc<Actor>,
    /// Queue for notifications; `None` for HTTP requests, which cannot receive any.
    outgoing: Option<Outgoing>,
    subscriptions: Mutex<HashMap<WorkspaceId, Arc<Subscription>>>,
    /// Identifies the connection within this process.
    pub(crate) number: u64,
    /// True if the answers become part of another answer, for which memory was reserved.
    is_nested: bool,
    /// Program that acts with the token, as it calls itself, recorded with document saves.
    client: OnceLock<String>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Peer {
    pub(crate) fn connected(actor: Arc<Actor>, outgoing: Outgoing) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            actor,
            outgoing: Some(outgoing),
            subscriptions: Mutex::default(),
            number,
            is_nested: false,
            client: OnceLock::new(),
        }
    }

    /// Returns the peer for a single HTTP request.
    pub(crate) fn one_shot(actor: Arc<Actor>) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            actor,
            outgoing: None,
            subscriptions: Mutex::default(),
            number,
            is_nested: false,
            client: OnceLock::new(),
        }
    }

    /// Returns the peer for a call that a request of another protocol consists of.
    pub(crate) fn nested(actor: Arc<Actor>) -> Self {
        Self { is_nested: true, ..Self::one_shot(actor) }
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// Sets the program recorded with document saves. Only the first call has an effect.
    pub(crate) fn set_client(&self, client: &str) {
        let _ = self.client.set(client.to_owned());
    }

    /// Returns the program to record with document saves.
    pub(crate) fn client(&self) -> Option<String> {
        self.client.get().cloned()
    }

    pub(crate) fn outgoing(&self) -> Option<&Outgoing> {
        self.outgoing.as_ref()
    }

    /// Creates a subscription, ending an existing one to the same workspace.
    pub(crate) async fn subscribe(&self, workspace_id: WorkspaceId, outgoing: Outgoing) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription::new(outgoing));
        // The lock is released before the wait: ending the old subscription takes as long as the notification that it
        // is sending, and the lock must not be held across an `await`.
        let before = self.subscriptions.lock().insert(workspace_id, Arc::clone(&subscription));
        if let Some(before) = before {
            before.end().await;
        }
        subscription
    }

    pub(crate) async fn unsubscribe(&self, workspace_id: &WorkspaceId) {
        let before = self.subscriptions.lock().remove(workspace_id);
        if let Some(before) = before {
            before.end().await;
        }
    }
}
