//! What the gateway knows about one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use protocol::WorkspaceId;
use rpc::Outgoing;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::Actor;

/// The other side of a connection, or of one HTTP request.
pub(crate) struct Peer {
    pub(crate) actor: Arc<Actor>,
    /// Where notifications go; none for HTTP, which has no connection.
    outgoing: Option<Outgoing>,
    subscriptions: Mutex<HashMap<WorkspaceId, DropGuard>>,
}

impl Peer {
    /// Somebody who stays.
    pub(crate) fn connected(actor: Arc<Actor>, outgoing: Outgoing) -> Self {
        Self { actor, outgoing: Some(outgoing), subscriptions: Mutex::default() }
    }

    /// Somebody who makes one request.
    pub(crate) fn passing(actor: Arc<Actor>) -> Self {
        Self { actor, outgoing: None, subscriptions: Mutex::default() }
    }

    pub(crate) fn outgoing(&self) -> Option<&Outgoing> {
        self.outgoing.as_ref()
    }

    /// Remembers a subscription, ending the one to the same workspace that was there before.
    pub(crate) fn subscribe(&self, workspace_id: WorkspaceId) -> CancellationToken {
        let token = CancellationToken::new();
        self.lock().insert(workspace_id, token.clone().drop_guard());
        token
    }

    /// Ends a subscription, if there is one.
    pub(crate) fn unsubscribe(&self, workspace_id: &WorkspaceId) {
        self.lock().remove(workspace_id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WorkspaceId, DropGuard>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
