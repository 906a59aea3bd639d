//! What the gateway knows about one connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protocol::WorkspaceId;
use rpc::Outgoing;

use crate::access::Actor;
use crate::feed::subscription::Subscription;

/// The other side of a connection, or of one HTTP request.
pub(crate) struct Peer {
    pub(crate) actor: Arc<Actor>,
    /// Where notifications go; none for HTTP, which has no connection.
    outgoing: Option<Outgoing>,
    subscriptions: Mutex<HashMap<WorkspaceId, Arc<Subscription>>>,
    /// Tells the connections of this process apart.
    pub(crate) number: u64,
    /// Who saves documents through it, where that is not the token's holder.
    author: OnceLock<String>,
}

/// The number of the next connection.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Peer {
    pub(crate) fn connected(actor: Arc<Actor>, outgoing: Outgoing) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            actor,
            outgoing: Some(outgoing),
            subscriptions: Mutex::default(),
            number,
            author: OnceLock::new(),
        }
    }

    /// Somebody who makes one request.
    pub(crate) fn one_shot(actor: Arc<Actor>) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { actor, outgoing: None, subscriptions: Mutex::default(), number, author: OnceLock::new() }
    }

    /// Says who saves documents from now on. The first word counts.
    pub(crate) fn speak_for(&self, author: &str) {
        let _ = self.author.set(author.to_owned());
    }

    /// Who saves documents.
    pub(crate) fn author(&self) -> &str {
        self.author.get().unwrap_or(&self.actor.name)
    }

    pub(crate) fn outgoing(&self) -> Option<&Outgoing> {
        self.outgoing.as_ref()
    }

    /// Makes a subscription, ending the one to the same workspace that was there before.
    pub(crate) async fn subscribe(&self, workspace_id: WorkspaceId, outgoing: Outgoing) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription::new(outgoing));
        let before = self.lock().insert(workspace_id, Arc::clone(&subscription));
        if let Some(before) = before {
            before.end().await;
        }
        subscription
    }

    /// Ends a subscription, if there is one.
    pub(crate) async fn unsubscribe(&self, workspace_id: &WorkspaceId) {
        let before = self.lock().remove(workspace_id);
        if let Some(before) = before {
            before.end().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WorkspaceId, Arc<Subscription>>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
