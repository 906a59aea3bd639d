//! The connection to one gateway: when to connect, when to wait, and what to catch up on.
//!
//! Pure: whoever owns it makes the connections that [`Connection::poll`] asks for and reports what became of them. Every
//! connection has a number, its generation, so that a late report about one that is gone changes nothing.

use std::collections::BTreeMap;
use std::time::Instant;

use protocol::{InstanceId, Sequence, WorkspaceId};

use crate::{Failure, backoff};

/// What to tell the user about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionState {
    /// Nobody wants one.
    Stopped,
    /// One is being made.
    Connecting {
        /// Which try it is, from 1.
        attempt: u32,
    },
    /// There is one.
    Connected,
    /// The last try failed, and there will be another.
    Waiting {
        /// When.
        until: Instant,
        /// How many tries have failed.
        attempt: u32,
        /// Why.
        message: String,
    },
    /// The gateway does not let us in; somebody has to do something first.
    Refused {
        /// Why.
        message: String,
    },
}

/// What to do for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionRequest {
    /// Connect and call `initialize`; report by [`Connection::connected`] or [`Connection::failed`].
    Connect {
        /// The number of the connection.
        generation: u64,
    },
    /// Close it.
    Disconnect {
        /// The number of the connection.
        generation: u64,
    },
    /// Follow a workspace from a change on.
    Subscribe {
        /// The number of the connection.
        generation: u64,
        /// The workspace.
        workspace_id: WorkspaceId,
        /// The last change that is known.
        since: Sequence,
    },
    /// Follow it no longer.
    Unsubscribe {
        /// The number of the connection.
        generation: u64,
        /// The workspace.
        workspace_id: WorkspaceId,
    },
    /// Load everything about a workspace again, then [`follow`](Connection::follow) it: the log no longer reaches back, or
    /// it is another one.
    Reload {
        /// The workspace.
        workspace_id: WorkspaceId,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscription {
    Wanted,
    Asked,
    Active,
    /// It failed temporarily.
    RetriesAt(Instant),
    /// It failed for good.
    Failed,
}

#[derive(Debug, Clone)]
struct Followed {
    since: Sequence,
    subscription: Subscription,
}

/// A connection that is kept.
#[derive(Debug, Clone)]
pub struct Connection {
    state: ConnectionState,
    /// The number of the connection that is there or is being made.
    generation: u64,
    /// Tries that failed since a connection last held.
    failures: u32,
    connected_at: Option<Instant>,
    instance: Option<InstanceId>,
    followed: BTreeMap<WorkspaceId, Followed>,
    /// What to do before anything else.
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
    /// What to tell the user.
    pub fn state(&self) -> &ConnectionState {
        &self.state
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.state == ConnectionState::Connected
    }

    /// The number of the connection that is there or is being made.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Wants a connection from now on.
    pub fn start(&mut self) {
        if self.state == ConnectionState::Stopped {
            self.failures = 0;
            self.connect();
        }
    }

    /// Wants none any more.
    pub fn stop(&mut self) {
        if matches!(self.state, ConnectionState::Connected | ConnectionState::Connecting { .. }) {
            self.pending.push(ConnectionRequest::Disconnect { generation: self.generation });
        }
        self.state = ConnectionState::Stopped;
        self.connected_at = None;
    }

    /// Tries now instead of later, or again after a refusal.
    pub fn retry_now(&mut self) {
        if matches!(self.state, ConnectionState::Waiting { .. } | ConnectionState::Refused { .. }) {
            self.connect();
        }
    }

    fn connect(&mut self) {
        self.generation += 1;
        self.state = ConnectionState::Connecting { attempt: self.failures + 1 };
        self.pending.push(ConnectionRequest::Connect { generation: self.generation });
    }

    /// What to do now.
    pub fn poll(&mut self, now: Instant) -> Option<ConnectionRequest> {
        if let ConnectionState::Waiting { until, .. } = self.state
            && until <= now
        {
            self.connect();
        }
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
                Subscription::Asked | Subscription::Active | Subscription::Failed => false,
            };
            is_due.then(|| {
                followed.subscription = Subscription::Asked;
                let (workspace_id, since) = (workspace_id.clone(), followed.since);
                ConnectionRequest::Subscribe { generation, workspace_id, since }
            })
        })
    }

    /// When to call [`poll`](Self::poll) although nothing happened.
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

    /// A connection was made, to a gateway with this database.
    pub fn connected(&mut self, generation: u64, instance: &InstanceId, now: Instant) {
        if !self.is_connecting(generation) {
            return;
        }
        self.state = ConnectionState::Connected;
        self.connected_at = Some(now);
        let is_other = self.instance.as_ref().is_some_and(|known| known != instance);
        self.instance = Some(instance.clone());
        if is_other {
            // Its numbers would count something else, even where they happen to fit.
            for workspace_id in std::mem::take(&mut self.followed).into_keys() {
                self.pending.push(ConnectionRequest::Reload { workspace_id });
            }
        }
        for followed in self.followed.values_mut() {
            followed.subscription = Subscription::Wanted;
        }
    }

    /// A connection could not be made.
    pub fn failed(&mut self, generation: u64, failure: Failure, now: Instant) {
        if self.is_connecting(generation) {
            self.give_up(failure, now);
        }
    }

    /// The connection that was there is gone.
    pub fn lost(&mut self, generation: u64, message: impl Into<String>, now: Instant) {
        if generation != self.generation || !self.is_connected() {
            return;
        }
        // One that is gone as soon as it was there does not count as a success.
        if self.connected_at.take().is_some_and(|since| now.duration_since(since) >= backoff::LONGEST_PAUSE) {
            self.failures = 0;
        }
        self.give_up(Failure { message: message.into(), is_transient: true, is_outcome_unknown: false }, now);
    }

    fn give_up(&mut self, failure: Failure, now: Instant) {
        self.failures += 1;
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

    /// Follows a workspace from a change on, such as that of a tree that was just loaded.
    pub fn follow(&mut self, workspace_id: WorkspaceId, since: Sequence) {
        self.followed.insert(workspace_id, Followed { since, subscription: Subscription::Wanted });
    }

    /// Follows a workspace no longer.
    pub fn unfollow(&mut self, workspace_id: &WorkspaceId) {
        if self.followed.remove(workspace_id).is_some() && self.is_connected() {
            let (generation, workspace_id) = (self.generation, workspace_id.clone());
            self.pending.push(ConnectionRequest::Unsubscribe { generation, workspace_id });
        }
    }

    /// The gateway follows a workspace for us.
    pub fn subscribed(&mut self, generation: u64, workspace_id: &WorkspaceId) {
        if let Some(followed) = self.asked(generation, workspace_id) {
            followed.subscription = Subscription::Active;
        }
    }

    /// The gateway's log does not reach back to what we know.
    pub fn log_pruned(&mut self, generation: u64, workspace_id: &WorkspaceId) {
        if self.asked(generation, workspace_id).is_some() {
            self.followed.remove(workspace_id);
            self.pending.push(ConnectionRequest::Reload { workspace_id: workspace_id.clone() });
        }
    }

    /// The gateway does not follow a workspace for us.
    pub fn subscribe_failed(
        &mut self,
        generation: u64,
        workspace_id: &WorkspaceId,
        failure: &Failure,
        now: Instant,
    ) {
        if let Some(followed) = self.asked(generation, workspace_id) {
            followed.subscription = if failure.is_transient {
                Subscription::RetriesAt(now + backoff::LONGEST_PAUSE)
            } else {
                Subscription::Failed
            };
        }
    }

    fn asked(&mut self, generation: u64, workspace_id: &WorkspaceId) -> Option<&mut Followed> {
        let is_current = generation == self.generation && self.is_connected();
        let followed = self.followed.get_mut(workspace_id).filter(|_| is_current)?;
        (followed.subscription == Subscription::Asked).then_some(followed)
    }

    /// A change of a workspace was announced. False when it is known already, or comes over a connection that is gone, or
    /// about a workspace that nobody follows: then it is to be dropped.
    pub fn event(&mut self, generation: u64, workspace_id: &WorkspaceId, seq: Sequence) -> bool {
        let is_current = generation == self.generation && self.is_connected();
        match self.followed.get_mut(workspace_id) {
            Some(followed) if is_current && seq > followed.since => {
                followed.since = seq;
                true
            }
            _ => false,
        }
    }
}
