//! Delivery of changes from the change log to subscribers.
//!
//! Each followed workspace has one feed. It appends the rows that come with a wake of this process, reads the log after a
//! gap and for changes of other gateways, serializes every change once, and keeps the most recent ones. A subscription is a cursor: it takes unseen changes from the feed, or from the log itself if it has
//! fallen behind what the feed remembers.

pub(crate) mod subscription;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use protocol::notification::ChangeOrigin;
use protocol::{Sequence, WorkspaceId};
use rpc::Frame;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use store::{Change, LoggedChanges, Store, StoreError};
use tokio::sync::{Notify, watch};

use crate::feed::subscription::Subscription;
use crate::metrics::Metrics;

/// Bytes of recent changes kept per feed, roughly the last hundred changes. Hundreds of workspaces may be followed at
/// once, so this must stay small; subscribers that are further behind read the log.
const REMEMBERED: usize = 64 << 10;
/// Changes per read of the log.
const BATCH: u64 = 256;
/// Polling interval in case a wake was lost.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Delay before retrying after a database error.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Feeds of all followed workspaces.
pub(crate) struct Feeds {
    store: Store,
    metrics: Arc<Metrics>,
    feeds: Mutex<HashMap<WorkspaceId, Weak<Feed>>>,
}

struct Feed {
    workspace_id: WorkspaceId,
    wake: Notify,
    head: watch::Sender<Sequence>,
    recent: Mutex<Recent>,
}

/// Contiguous changes after `floor`.
struct Recent {
    floor: Sequence,
    frames: VecDeque<SentChange>,
    /// Total size of `frames`.
    bytes: usize,
}

/// A serialized change. The frame is `None` if the change could not be read; its number is kept so that cursors move
/// past it.
type SentChange = (Sequence, Option<Frame>);

impl Feeds {
    pub(crate) fn new(store: Store, metrics: Arc<Metrics>) -> Self {
        Self { store, metrics, feeds: Mutex::default() }
    }

    /// Forgets all feeds: later subscriptions start new ones, and the log decides what follows.
    pub(crate) fn reset(&self) {
        self.feeds.lock().clear();
    }

    /// Wakes one workspace's feed, or all feeds.
    pub(crate) fn wake(&self, workspace_id: Option<&WorkspaceId>) {
        let feeds = self.feeds.lock();
        let woken: Vec<&Weak<Feed>> = match workspace_id {
            Some(workspace_id) => feeds.get(workspace_id).into_iter().collect(),
            None => feeds.values().collect(),
        };
        for feed in woken.into_iter().filter_map(Weak::upgrade) {
            feed.wake.notify_one();
        }
    }

    /// Appends changes that were just committed. If there is a gap before them, the feed reads the log instead.
    pub(crate) fn logged(&self, logged: &LoggedChanges) {
        // The map is unlocked before the changes are serialized, so that a large change in one workspace does not delay
        // the others.
        let feed = self.feeds.lock().get(&logged.workspace_id).and_then(Weak::upgrade);
        if let Some(feed) = feed
            && !feed.append_contiguous(&logged.changes)
        {
            feed.wake.notify_one();
        }
    }

    /// Sends a workspace's changes after `cursor` until the subscription ends.
    pub(crate) async fn follow(
        &self,
        workspace_id: WorkspaceId,
        mut cursor: Sequence,
        subscription: &Subscription,
    ) {
        let feed = self.feed(&workspace_id, cursor);
        let mut head = feed.head.subscribe();
        let deliver = async {
            loop {
                let frames = match feed.after(cursor) {
                    Some(frames) => frames,
                    None => match self.read(&workspace_id, cursor).await {
                        Ok(frames) => frames,
                        Err(_) => {
                            // The subscription survives an outage of the database. Its cursor has not moved, so nothing
                            // is missed once reading succeeds again.
                            tokio::time::sleep(RETRY_AFTER).await;
                            continue;
                        }
                    },
                };
                let nothing_new = frames.is_empty();
                for (seq, frame) in frames {
                    if let Some(frame) = frame {
                        if !subscription.send(frame).await {
                            return;
                        }
                        self.metrics.notifications.inc();
                    }
                    cursor = seq;
                }
                // `wait_for` checks the current head before it waits, so a change that was appended after the look
                // above is not missed.
                if nothing_new && head.wait_for(|head| *head > cursor).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = deliver => {}
            () = subscription.over() => {}
        }
    }

    async fn read(
        &self,
        workspace_id: &WorkspaceId,
        cursor: Sequence,
    ) -> Result<Vec<SentChange>, StoreError> {
        let changes = self.store.changes_after(workspace_id, cursor, BATCH).await?;
        Ok(changes.into_iter().map(serialize).collect())
    }

    /// Returns the workspace's feed, starting one if the workspace has no followers yet.
    fn feed(&self, workspace_id: &WorkspaceId, from: Sequence) -> Arc<Feed> {
        let mut feeds = self.feeds.lock();
        if let Some(feed) = feeds.get(workspace_id).and_then(Weak::upgrade) {
            return feed;
        }
        // Followers own the feeds, and the end of a feed runs no code that could clean up this map. A new feed is a
        // good moment to do it.
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let feed = Arc::new(Feed {
            workspace_id: workspace_id.clone(),
            wake: Notify::new(),
            head: watch::channel(from).0,
            recent: Mutex::new(Recent::after(from)),
        });
        feeds.insert(workspace_id.clone(), Arc::downgrade(&feed));
        tokio::spawn(keep_reading(self.store.clone(), Arc::downgrade(&feed)));
        feed
    }
}

/// Reads the log into a feed for as long as it has followers.
async fn keep_reading(store: Store, feed: Weak<Feed>) {
    // The feed is held for one round at a time. Holding it longer would keep it alive, and this task running, after the
    // last follower has left.
    while let Some(feed) = feed.upgrade() {
        let cursor = *feed.head.borrow();
        match store.changes_after(&feed.workspace_id, cursor, BATCH).await {
            Ok(changes) => {
                let is_all = (changes.len() as u64) < BATCH;
                feed.push(changes);
                // A change committed after this read has left a permit in `wake`, so waiting here cannot miss it. The
                // timeout covers wakes that were lost on their way from another gateway.
                if is_all {
                    let _ = tokio::time::timeout(LOOK_EVERY, feed.wake.notified()).await;
                }
            }
            Err(_) => tokio::time::sleep(RETRY_AFTER).await,
        }
    }
}

impl Feed {
    /// Appends changes read from the log, skipping those that arrived directly in the meantime.
    fn push(&self, changes: Vec<Change>) {
        let mut recent = self.recent.lock();
        let head = *self.head.borrow();
        self.extend(&mut recent, changes.into_iter().filter(|change| change.seq > head));
    }

    /// Appends changes that directly follow the newest known one. Returns false if there is a gap.
    fn append_contiguous(&self, changes: &[Change]) -> bool {
        let mut recent = self.recent.lock();
        let head = *self.head.borrow();
        let new = changes.iter().skip_while(|change| change.seq <= head);
        if new.clone().next().is_some_and(|first| first.seq.0 != head.0 + 1) {
            return false;
        }
        self.extend(&mut recent, new.cloned());
        true
    }

    /// Moves the head while `recent` is locked, so that a concurrent append cannot add the same changes.
    fn extend(&self, recent: &mut Recent, changes: impl Iterator<Item = Change>) {
        let sent: Vec<SentChange> = changes.map(serialize).collect();
        let Some(newest) = sent.last().map(|(seq, _)| *seq) else { return };
        recent.extend(sent.into_iter());
        self.head.send_replace(newest);
    }

    /// Returns changes after a cursor, or `None` if the feed no longer has them.
    fn after(&self, cursor: Sequence) -> Option<Vec<SentChange>> {
        let recent = self.recent.lock();
        if cursor < recent.floor {
            return None;
        }
        let start = recent.frames.partition_point(|(seq, _)| *seq <= cursor);
        Some(recent.frames.iter().skip(start).take(BATCH as usize).cloned().collect())
    }
}

impl Recent {
    fn after(floor: Sequence) -> Self {
        Self { floor, frames: VecDeque::new(), bytes: 0 }
    }

    /// Appends changes and evicts the oldest ones above the size limit.
    fn extend(&mut self, changes: impl Iterator<Item = SentChange>) {
        for change in changes {
            self.bytes += weight(&change);
            self.frames.push_back(change);
        }
        while self.bytes > REMEMBERED
            && let Some(oldest) = self.frames.pop_front()
        {
            self.bytes -= weight(&oldest);
            self.floor = oldest.0;
        }
    }
}

/// Memory used by a change: its text, its queue entry, and the shared pointer's counters.
fn weight((_, frame): &SentChange) -> usize {
    frame.as_ref().map_or(0, |frame| frame.as_str().len()) + 2 * size_of::<SentChange>()
}

/// The parameters of a notification: the stored body with the position and the origin of the change.
#[derive(Serialize)]
struct NotificationParameters<'a> {
    seq: Sequence,
    #[serde(flatten)]
    body: Body<'a>,
    #[serde(flatten)]
    origin: &'a ChangeOrigin,
}

/// The members of a stored body, in their order. Their values are passed on as they are.
struct Body<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Body<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Body<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Body(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn serialize(change: Change) -> SentChange {
    let Change { seq, origin, method, body } = change;
    let parsed = serde_json::from_str(&body);
    let frame = parsed
        .and_then(|body| rpc::notification(&method, &NotificationParameters { seq, body, origin: &origin }));
    if let Err(error) = &frame {
        tracing::error!(%seq, method, %error, "skipped an unreadable change in the log");
    }
    (seq, frame.ok())
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;

    use super::*;

    fn feed() -> Feed {
        Feed {
            workspace_id: WorkspaceId::new(),
            wake: Notify::new(),
            head: watch::channel(Sequence(0)).0,
            recent: Mutex::new(Recent::after(Sequence(0))),
        }
    }

    fn change(seq: u64, params: &str) -> Change {
        Change {
            seq: Sequence(seq),
            origin: ChangeOrigin { changed_at: Timestamp::from_milliseconds(0), changed_by: None },
            method: "thread/tree/changed".into(),
            body: params.into(),
        }
    }

    #[test]
    fn recent_changes_are_bounded_in_bytes() {
        let feed = feed();
        let params = format!(r#"{{"text":"{}"}}"#, "x".repeat(500));
        for seq in 1..=10_000 {
            feed.push(vec![change(seq, &params)]);
        }
        let recent = feed.recent.lock();
        assert_eq!(recent.bytes, recent.frames.iter().map(weight).sum::<usize>());
        assert!((REMEMBERED - 1_000..=REMEMBERED).contains(&recent.bytes), "{}", recent.bytes);
        assert_eq!(
            recent.floor.0,
            10_000 - recent.frames.len() as u64,
            "all changes after the floor are present"
        );
        let floor = recent.floor;
        drop(recent);
        assert_eq!(feed.after(floor).unwrap()[0].0, Sequence(floor.0 + 1));
        assert!(feed.after(Sequence(floor.0 - 1)).is_none(), "cursors before the floor read the log");

        let larger_than_all = format!(r#"{{"text":"{}"}}"#, "x".repeat(REMEMBERED));
        feed.push(vec![change(10_001, &larger_than_all)]);
        assert!(feed.after(Sequence(10_000)).is_none(), "it comes from the log");
        assert_eq!(feed.after(Sequence(10_001)).unwrap(), []);
    }

    #[test]
    fn logged_changes_are_appended_once_without_gaps() {
        let feed = feed();
        let seen = || -> Vec<u64> { feed.after(Sequence(0)).unwrap().iter().map(|(seq, _)| seq.0).collect() };
        assert!(feed.append_contiguous(&[change(1, "{}"), change(2, "{}")]));
        assert!(!feed.append_contiguous(&[change(4, "{}")]), "change 3 is missing, so the log must be read");
        assert_eq!(seen(), [1, 2]);
        feed.push(vec![change(3, "{}"), change(4, "{}")]);
        assert!(feed.append_contiguous(&[change(3, "{}")]), "change 3 was read from the log already");
        assert!(feed.append_contiguous(&[change(4, "{}"), change(5, "{}")]));
        feed.push(vec![change(5, "{}"), change(6, "{}")]);
        assert_eq!((seen(), *feed.head.borrow()), (vec![1, 2, 3, 4, 5, 6], Sequence(6)));
    }

    #[test]
    fn unreadable_changes_keep_their_number() {
        let feed = feed();
        feed.push(vec![
            change(1, r#"{"a":1}"#),
            change(2, "{ no JSON"),
            change(3, r#"{"a":1}"#),
            change(4, "neither"),
        ]);
        let after = |cursor| -> Vec<(u64, bool)> {
            let frames = feed.after(Sequence(cursor)).unwrap();
            frames.into_iter().map(|(seq, frame)| (seq.0, frame.is_some())).collect()
        };
        assert_eq!(after(0), [(1, true), (2, false), (3, true), (4, false)]);
        // Without its number, a subscriber at 3 would be woken for change 4 forever and never receive anything.
        assert_eq!((after(3), *feed.head.borrow()), (vec![(4, false)], Sequence(4)));
        assert_eq!(after(4), []);
    }

    #[test]
    fn a_notification_has_position_body_and_origin() {
        let origin =
            ChangeOrigin { changed_at: Timestamp::from_milliseconds(0), changed_by: Some("ada".into()) };
        let end = serde_json::to_string(&origin).unwrap().replacen('{', ",", 1);
        // Values are passed on as they were stored, with their white space and escapes.
        for (body, members) in
            [("{}", ""), (r#"{ "b" : {"x": [1]}, "a": "\u0000" }"#, r#","b":{"x": [1]},"a":"\u0000""#)]
        {
            let body = serde_json::from_str(body).unwrap();
            let parameters = NotificationParameters { seq: Sequence(7), body, origin: &origin };
            assert_eq!(serde_json::to_string(&parameters).unwrap(), format!(r#"{{"seq":7{members}{end}"#));
        }
    }
}
