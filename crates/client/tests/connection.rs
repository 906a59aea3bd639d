//! Tests of the connection state machine: retries, subscriptions and resumption.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::time::{Duration, Instant};

use client::{Connection, ConnectionRequest, ConnectionState, Failure};
use proptest::prelude::*;
use protocol::{InstanceId, Sequence, WorkspaceId};

fn workspace(name: &str) -> WorkspaceId {
    name.parse().unwrap()
}

fn instance(name: &str) -> InstanceId {
    name.parse().unwrap()
}

fn failure(is_transient: bool) -> Failure {
    Failure { message: "no".to_owned(), is_transient, is_outcome_unknown: false }
}

/// Returns an open connection.
fn connected(now: Instant) -> Connection {
    let mut connection = Connection::default();
    connection.start();
    assert_eq!(connection.poll(now), Some(ConnectionRequest::Connect { generation: 1 }));
    connection.connected(1, &instance("d0"), now);
    connection
}

fn subscribe(generation: u64, since: u64) -> Option<ConnectionRequest> {
    let workspace_id = workspace("w");
    let since = Sequence(since);
    Some(ConnectionRequest::Subscribe { generation, workspace_id, since })
}

fn reload() -> Option<ConnectionRequest> {
    Some(ConnectionRequest::Reload { workspace_id: workspace("w") })
}

#[test]
fn retries_back_off_exponentially() {
    let mut now = Instant::now();
    let mut connection = Connection::default();
    assert_eq!((connection.poll(now), connection.state()), (None, &ConnectionState::Stopped));
    connection.start();
    let mut pauses = Vec::new();
    for attempt in 1..=7 {
        assert_eq!(connection.poll(now), Some(ConnectionRequest::Connect { generation: attempt }));
        assert_eq!(connection.poll(now), None);
        connection.failed(attempt, failure(true), now);
        let ConnectionState::Waiting { until, message, .. } = connection.state() else { panic!() };
        assert_eq!((message.as_str(), connection.wake_at()), ("no", Some(*until)));
        pauses.push(until.duration_since(now).as_millis());
        now = *until;
    }
    assert_eq!(pauses, [200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    connection.poll(now).unwrap();
    connection.connected(8, &instance("d0"), now);
    assert!(connection.is_connected());
    // A connection that lasted resets the backoff. One that dropped right away does not.
    connection.lost(8, "gone", now + Duration::from_secs(60));
    assert!(matches!(connection.state(), ConnectionState::Waiting { attempt: 1, .. }));
    connection.retry_now();
    connection.poll(now).unwrap();
    connection.connected(9, &instance("d0"), now);
    connection.lost(9, "gone", now + Duration::from_millis(1));
    assert!(matches!(connection.state(), ConnectionState::Waiting { attempt: 2, .. }));
}

#[test]
fn a_rejection_waits_for_the_user() {
    let now = Instant::now();
    let mut connection = Connection::default();
    connection.start();
    connection.poll(now).unwrap();
    connection.failed(1, failure(false), now);
    assert_eq!(connection.state(), &ConnectionState::Refused { message: "no".to_owned() });
    assert_eq!((connection.wake_at(), connection.poll(now + Duration::from_secs(3_600))), (None, None));
    connection.retry_now();
    assert_eq!(connection.poll(now), Some(ConnectionRequest::Connect { generation: 2 }));
}

#[test]
fn a_subscription_resumes_after_reconnecting() {
    let now = Instant::now();
    let mut connection = connected(now);
    connection.follow(workspace("w"), Sequence(7));
    assert_eq!(connection.poll(now), subscribe(1, 7));
    connection.subscribed(1, &workspace("w"));
    assert!(connection.event(1, &workspace("w"), Sequence(8)));
    assert!(!connection.event(1, &workspace("w"), Sequence(8)), "no change is reported twice");
    connection.lost(1, "gone", now);
    assert!(!connection.event(1, &workspace("w"), Sequence(9)), "it will be sent again");
    connection.retry_now();
    connection.poll(now).unwrap();
    connection.connected(2, &instance("d0"), now);
    assert_eq!(connection.poll(now), subscribe(2, 8));
    // Late reports about the old connection change nothing.
    connection.lost(1, "gone", now);
    connection.log_pruned(1, &workspace("w"));
    connection.connected(1, &instance("two"), now);
    assert_eq!((connection.poll(now), connection.is_connected()), (None, true));
}

#[test]
fn a_pruned_log_causes_a_reload() {
    let now = Instant::now();
    let mut connection = connected(now);
    connection.follow(workspace("w"), Sequence(7));
    connection.poll(now).unwrap();
    connection.log_pruned(1, &workspace("w"));
    assert_eq!(connection.poll(now), reload());
    assert!(!connection.event(1, &workspace("w"), Sequence(9)), "dropped until the workspace is reloaded");
    connection.follow(workspace("w"), Sequence(90));
    assert_eq!(connection.poll(now), subscribe(1, 90));
}

#[test]
fn another_database_causes_a_full_reload() {
    let now = Instant::now();
    let mut connection = connected(now);
    connection.follow(workspace("w"), Sequence(7));
    connection.poll(now).unwrap();
    connection.lost(1, "gone", now);
    connection.retry_now();
    connection.poll(now).unwrap();
    connection.connected(2, &instance("two"), now);
    assert_eq!((connection.poll(now), connection.poll(now)), (reload(), None));
}

#[test]
fn a_subscription_is_retried_after_a_transient_failure() {
    let now = Instant::now();
    let mut connection = connected(now);
    connection.follow(workspace("w"), Sequence(7));
    connection.poll(now).unwrap();
    connection.subscribe_failed(1, &workspace("w"), &failure(true), now);
    assert_eq!(connection.poll(now), None);
    let later = connection.wake_at().unwrap();
    assert_eq!(connection.poll(later), subscribe(1, 7));
    // A permanent failure, such as a missing permission, would only repeat itself.
    connection.subscribe_failed(1, &workspace("w"), &failure(false), later);
    assert_eq!((connection.wake_at(), connection.poll(later + Duration::from_secs(60))), (None, None));
}

#[test]
fn stopping_closes_the_connection() {
    let now = Instant::now();
    let mut connection = connected(now);
    connection.follow(workspace("w"), Sequence(7));
    connection.poll(now).unwrap();
    connection.unfollow(&workspace("w"));
    let unsubscribe = ConnectionRequest::Unsubscribe { generation: 1, workspace_id: workspace("w") };
    assert_eq!(connection.poll(now), Some(unsubscribe));
    connection.stop();
    assert_eq!(connection.poll(now), Some(ConnectionRequest::Disconnect { generation: 1 }));
    // The owner closes the connection and then reports it as lost, which must not start another attempt.
    connection.lost(1, "closed", now);
    assert_eq!((connection.poll(now), connection.state()), (None, &ConnectionState::Stopped));
}

#[derive(Debug, Clone)]
enum Step {
    /// A change in the workspace.
    Change,
    /// The gateway prunes its log.
    Prune,
    /// The database is restored from a backup.
    Restore,
    /// The current or pending connection is lost.
    Lose,
    /// The next request is executed.
    Do,
    /// The next notification arrives.
    Hear,
    Wait,
}

/// A gateway's log of one workspace and a client that follows it.
struct World {
    now: Instant,
    connection: Connection,
    head: u64,
    oldest: u64,
    database: u64,
    /// Last change known to the client, and its database.
    known: (u64, u64),
    /// Connection that the gateway sends to, and the next change to send.
    sending: Option<(u64, u64)>,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        let mut connection = connected(now);
        connection.follow(workspace("w"), Sequence(1));
        Self { now, connection, head: 1, oldest: 1, database: 0, known: (1, 0), sending: None }
    }

    fn take(&mut self, step: &Step) {
        let generation = self.connection.generation();
        match step {
            Step::Change => self.head += 1,
            Step::Prune => self.oldest = self.head,
            Step::Restore => {
                self.connection.lost(generation, "gone", self.now);
                // A backup has fewer changes. Its sequence numbers still look plausible, which makes them dangerous.
                self.head = self.head / 2 + 1;
                self.oldest = 1;
                self.sending = None;
                self.database += 1;
            }
            Step::Lose => {
                self.sending = None;
                self.connection.lost(generation, "gone", self.now);
                self.connection.failed(generation, failure(true), self.now);
            }
            // Longer than the longest pause, so every scheduled retry becomes due.
            Step::Wait => self.now += Duration::from_secs(6),
            Step::Hear => self.hear(),
            Step::Do => self.act(),
        }
    }

    fn hear(&mut self) {
        if let Some((generation, next)) = self.sending.filter(|(_, next)| *next <= self.head) {
            if self.connection.event(generation, &workspace("w"), Sequence(next)) {
                assert_eq!((next - 1, self.database), self.known, "changes arrive in order");
                self.known.0 = next;
            }
            self.sending = Some((generation, next + 1));
        }
    }

    fn act(&mut self) {
        match self.connection.poll(self.now) {
            Some(ConnectionRequest::Connect { generation }) => {
                let instance = instance(&format!("d{}", self.database));
                self.connection.connected(generation, &instance, self.now);
            }
            Some(ConnectionRequest::Subscribe { generation, workspace_id, since }) => {
                // A sequence number beyond the end of the log is as unusable as a pruned one.
                if since.0 + 1 < self.oldest || since.0 > self.head {
                    self.connection.log_pruned(generation, &workspace_id);
                } else {
                    self.connection.subscribed(generation, &workspace_id);
                    self.sending = Some((generation, since.0 + 1));
                }
            }
            Some(ConnectionRequest::Reload { workspace_id }) => {
                self.known = (self.head, self.database);
                self.connection.follow(workspace_id, Sequence(self.head));
            }
            Some(ConnectionRequest::Disconnect { .. } | ConnectionRequest::Unsubscribe { .. }) | None => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A client that applies every accepted event and every reload knows the latest state.
    #[test]
    fn nothing_is_missed(steps in proptest::collection::vec(prop_oneof![
        4 => Just(Step::Change),
        1 => Just(Step::Prune),
        1 => Just(Step::Restore),
        2 => Just(Step::Lose),
        6 => Just(Step::Do),
        6 => Just(Step::Hear),
        2 => Just(Step::Wait),
    ], 1..200)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        // Enough rounds to reconnect, subscribe and reload, so that every remaining change can arrive afterwards.
        for _ in 0..50 {
            world.take(&Step::Wait);
            world.take(&Step::Do);
        }
        let heard_at_most = world.head;
        for _ in 0..=heard_at_most {
            world.take(&Step::Hear);
        }
        prop_assert_eq!(world.known, (world.head, world.database));
    }
}
