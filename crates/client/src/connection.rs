//! State machine of the connection to one gateway: when to connect, when to wait and where to resume.
//!
//! The machine is pure: its owner makes the connections that [`Connection::poll`] requests and reports the results. Each
//! connection has a generation number, so a late report about an old connection changes nothing.

use std::collections::BTreeMap;
use std::time::Instant;

use protocol::{InstanceId, Sequence, WorkspaceId};

use crate::{Failure, backoff};

/// State of a connection, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionState {
    /// No connection is wanted.
    Stopped,
    /// A connection attempt is running.
    Connecting {
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// The connection is open.
    Connected,
    /// The last attempt failed and another one is scheduled.
    Waiting {
        /// Time of the next attempt.
        until: Instant,
        /// Number of failed attempts.
        attempt: u32,
        /// Reason for the last failure.
        message: String,
    },
    /// The gateway rejected the connection; retrying needs a user action.
    Refused {
        /// Reason for the rejection.
        message: String,
    },
}

/// Action that the owner of a connection must take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionRequest {
    /// Connect and call `initialize`, then report with [`Connection::connected`] or [`Connection::failed`].
    Connect {
        /// Generation of the connection.
        generation: u64,
    },
    /// Close the connection.
    Disconnect {
        /// Generation of the connection.
        generation: u64,
    },
    /// Subscribe to a workspace's changes.
    Subscribe {
        /// Generation of the connection.
        generation: u64,
        /// The workspace.
        workspace_id: WorkspaceId,
        /// Last known change.
        since: Sequence,
    },
    /// Cancel the subscription of a workspace.
    Unsubscribe {
        /// Generation of the connection.
        generation: u64,
        /// The workspace.
        workspace_id: WorkspaceId,
    },
    /// Load a workspace from scratch, then [`follow`](Connection::follow) it: the change log was pruned or belongs to
    /// another database.
    Reload {
        /// The workspace.
        workspace_id: WorkspaceId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscription {
    Wanted,
    Sent,
    Active,
    /// Failed temporarily.
    RetriesAt(Instant),
    /// Failed permanently.
    Failed,
}

#[derive(Debug, Clone)]
struct Followed {
    since: Sequence,
    subscription: Subscription,
}

/// A connection that reconnects automatically.
#[derive(Debug, Clone)]
pub struct Connection {
    state: ConnectionState,
    /// Generation of the current or pending connection.
    generation: u64,
    /// Failed attempts since a connection last lasted.
    failures: u32,
    connected_at: Option<Instant>,
    instance: Option<InstanceId>,
    followed: BTreeMap<WorkspaceId, Followed>,
    /// Requests to send before any other.
    pending: Vec<ConnectionRequest>,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            state: ConnectionState::Stopped,
            generation: 0,
            failures: 0,
            connected_at: None,
            instance: None,
            followed: BTreeMap::new(),
            pending: Vec::new(),
        }
    }
}

impl Connection {
    /// Returns the state to show to the user.
    pub fn state(&self) -> &ConnectionState {
        &self.state
    }

    /// Returns true if the connection is open.
    pub fn is_connected(&self) -> bool {
        self.state == ConnectionState::Connected
    }

    /// Returns the generation of the current or pending connection.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Starts connecting, and keeps reconnecting until [`stop`](Self::stop).
    pub fn start(&mut self) {
        if self.state == ConnectionState::Stopped {
            // Starting again is a user action that expects an immediate attempt, so failures of an earlier run do not
            // count.
            self.failures = 0;
            self.connect();
        }
    }

    /// Closes the connection and stops reconnecting.
    pub fn stop(&mut self) {
        // A waiting or rejected connection has nothing open, so its owner gets no request. Otherwise a `Connect`
        // that is still pending is followed by its `Disconnect`, because requests are sent in order.
        if matches!(self.state, ConnectionState::Connected | ConnectionState::Connecting { .. }) {
            self.pending.push(ConnectionRequest::Disconnect { generation: self.generation });
        }
        self.state = ConnectionState::Stopped;
        self.connected_at = None;
    }

    /// Retries immediately after a failure or a rejection.
    pub fn retry_now(&mut self) {
        if matches!(self.state, ConnectionState::Waiting { .. } | ConnectionState::Refused { .. }) {
            self.connect();
        }
    }

    fn connect(&mut self) {
        // Reports carry the generation they belong to, so a new number makes late reports about the previous
        // connection harmless.
        self.generation += 1;
        self.state = ConnectionState::Connecting { attempt: self.failures + 1 };
        self.pending.push(ConnectionRequest::Connect { generation: self.generation });
    }

    /// Returns the next action to take.
    pub fn poll(&mut self, now: Instant) -> Option<ConnectionRequest> {
        if let ConnectionState::Waiting { until, .. } = self.state
            && until <= now
        {
            self.connect();
        }
        // Pending requests go before new subscriptions: an `Unsubscribe` must not arrive after the `Subscribe` of
        // a workspace that is followed again.
        if !self.pending.is_empty() {
            return Some(self.pending.remove(0));
        }
        if !self.is_connected() {
            return None;
        }
        let generation = self.generation;
        self.followed.iter_mut().find_map(|(workspace_id, followed)| {
            let is_due = match followed.subscription {
                Subscription::Wanted => true,
                Subscription::RetriesAt(at) => at <= now,
                Subscription::Sent | Subscription::Active | Subscription::Failed => false,
            };
            is_due.then(|| {
                // Marked before the answer arrives, so that the next `poll` does not send the same subscription again.
                followed.subscription = Subscription::Sent;
                let workspace_id = workspace_id.clone();
                let since = followed.since;
                ConnectionRequest::Subscribe { generation, workspace_id, since }
            })
        })
    }

    /// Returns the time of the next [`poll`](Self::poll) if nothing happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        match self.state {
            ConnectionState::Waiting { until, .. } => Some(until),
            ConnectionState::Connected => {
                let retries = self.followed.values().filter_map(|followed| match followed.subscription {
                    Subscription::RetriesAt(at) => Some(at),
                    _ => None,
                });
                retries.min()
            }
            _ => None,
        }
    }

    /// Reports an open connection to a gateway with this database.
    pub fn connected(&mut self, generation: u64, instance: &InstanceId, now: Instant) {
        if !self.is_connecting(generation) {
            return;
        }
        self.state = ConnectionState::Connected;
        self.connected_at = Some(now);
        let is_other = self.instance.as_ref().is_some_and(|known| known != instance);
        self.instance = Some(instance.clone());
        if is_other {
            // Sequence numbers of another database mean something else, even if they look plausible. Resuming from them
            // would silently skip or repeat changes.
            for workspace_id in std::mem::take(&mut self.followed).into_keys() {
                self.pending.push(ConnectionRequest::Reload { workspace_id });
            }
        }
        // The gateway keeps no subscriptions across connections, so each one is requested again from the last
        // known change.
        for followed in self.followed.values_mut() {
            followed.subscription = Subscription::Wanted;
        }
    }

    /// Reports a failed connection attempt.
    pub fn failed(&mut self, generation: u64, failure: Failure, now: Instant) {
        if self.is_connecting(generation) {
            self.give_up(failure, now);
        }
    }

    /// Reports that the open connection was lost.
    pub fn lost(&mut self, generation: u64, message: impl Into<String>, now: Instant) {
        if generation != self.generation || !self.is_connected() {
            return;
        }
        // A connection that drops right after opening does not reset the backoff. Otherwise a proxy that accepts and
        // then closes connections would be retried in a tight loop.
        if self.connected_at.take().is_some_and(|since| now.duration_since(since) >= backoff::LONGEST_PAUSE) {
            self.failures = 0;
        }
        self.give_up(Failure { message: message.into(), is_transient: true, is_outcome_unknown: false }, now);
    }

    fn give_up(&mut self, failure: Failure, now: Instant) {
        self.failures += 1;
        // A rejection, such as an unknown token, would only repeat itself, so no further attempt is scheduled.
        self.state = if failure.is_transient {
            let until = now + backoff::pause(self.failures);
            ConnectionState::Waiting { until, attempt: self.failures, message: failure.message }
        } else {
            ConnectionState::Refused { message: failure.message }
        };
    }

    fn is_connecting(&self, generation: u64) -> bool {
        generation == self.generation && matches!(self.state, ConnectionState::Connecting { .. })
    }

    /// Subscribes to a workspace from a change on, such as that of a freshly loaded tree.
    pub fn follow(&mut self, workspace_id: WorkspaceId, since: Sequence) {
        self.followed.insert(workspace_id, Followed { since, subscription: Subscription::Wanted });
    }

    /// Cancels the subscription of a workspace.
    pub fn unfollow(&mut self, workspace_id: &WorkspaceId) {
        // Without a connection there is nothing to cancel: the next one subscribes only to the workspaces that are
        // still followed.
        if self.followed.remove(workspace_id).is_some() && self.is_connected() {
            let generation = self.generation;
            let workspace_id = workspace_id.clone();
            self.pending.push(ConnectionRequest::Unsubscribe { generation, workspace_id });
        }
    }

    /// Reports a successful subscription.
    pub fn subscribed(&mut self, generation: u64, workspace_id: &WorkspaceId) {
        if let Some(followed) = self.asked(generation, workspace_id) {
            followed.subscription = Subscription::Active;
        }
    }

    /// Reports that the gateway's change log no longer contains the last known change.
    pub fn log_pruned(&mut self, generation: u64, workspace_id: &WorkspaceId) {
        if self.asked(generation, workspace_id).is_some() {
            self.followed.remove(workspace_id);
            self.pending.push(ConnectionRequest::Reload { workspace_id: workspace_id.clone() });
        }
    }

    /// Reports a failed subscription.
    pub fn subscribe_failed(
        &mut self,
        generation: u64,
        workspace_id: &WorkspaceId,
        failure: &Failure,
        now: Instant,
    ) {
        if let Some(followed) = self.asked(generation, workspace_id) {
            followed.subscription = if failure.is_transient {
                // A subscription has no failure counter, so it waits for the longest pause from the first failure on.
                Subscription::RetriesAt(now + backoff::LONGEST_PAUSE)
            } else {
                Subscription::Failed
            };
        }
    }

    fn asked(&mut self, generation: u64, workspace_id: &WorkspaceId) -> Option<&mut Followed> {
        // Answers over an old connection, and answers for a workspace that is no longer followed, must not change
        // the current state.
        let is_current = generation == self.generation && self.is_connected();
        let followed = self.followed.get_mut(workspace_id).filter(|_| is_current)?;
        (followed.subscription == Subscription::Sent).then_some(followed)
    }

    /// Records an announced change. Returns false if the change must be dropped: it is already known, arrived over an old
    /// connection, or belongs to a workspace that is not followed.
    pub fn event(&mut self, generation: u64, workspace_id: &WorkspaceId, seq: Sequence) -> bool {
        let is_current = generation == self.generation && self.is_connected();
        match self.followed.get_mut(workspace_id) {
            // Resuming may repeat changes that were already announced, so only later ones are accepted.
            Some(followed) if is_current && seq > followed.since => {
                followed.since = seq;
                true
            }
            _ => false,
        }
    }
}
