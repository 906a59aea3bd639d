//! From the change log to the subscribers.
//!
//! Each workspace that somebody follows has one feed. It reads the log when it is woken, serialises every change
//! once, and keeps the newest ones. A subscription is a cursor: it takes what it has not seen from the feed, or,
//! when it is further behind than the feed remembers, from the log itself.

pub(crate) mod subscription;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use protocol::notification::ChangeOrigin;
use protocol::{Sequence, WorkspaceId};
use rpc::Frame;
use serde_json::value::RawValue;
use store::{Change, LoggedChanges, Store, StoreError};
use tokio::sync::{Notify, watch};

use crate::feed::subscription::Subscription;
use crate::metrics::Metrics;

/// Bytes of changes that a feed remembers: the newest hundred or so. There is a feed for each workspace that is followed,
/// so this times a few hundred has to be little memory; whoever is further behind reads the log.
const REMEMBERED: usize = 64 << 10;
/// Changes read from the log at once.
const BATCH: u64 = 256;
/// How often a feed looks without being woken, for the case that a wake was lost.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a feed waits when the database does not answer.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The feeds of all workspaces that are followed.
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

/// The changes after `floor`, without a gap.
struct Recent {
    floor: Sequence,
    frames: VecDeque<Sent>,
    /// How long the frames are together.
    bytes: usize,
}

/// A change as it is sent; one that cannot be read has its number only, so that whoever follows gets past it.
type Sent = (Sequence, Option<Frame>);

impl Feeds {
    pub(crate) fn new(store: Store, metrics: Arc<Metrics>) -> Self {
        Self { store, metrics, feeds: Mutex::default() }
    }

    /// Makes one workspace's feed look at the log, or all of them.
    pub(crate) fn wake(&self, workspace_id: Option<&WorkspaceId>) {
        let feeds = self.lock();
        let woken: Vec<&Weak<Feed>> = match workspace_id {
            Some(workspace_id) => feeds.get(workspace_id).into_iter().collect(),
            None => feeds.values().collect(),
        };
        for feed in woken.into_iter().filter_map(Weak::upgrade) {
            feed.wake.notify_one();
        }
    }

    /// Gives a workspace's feed what was just added to the log. Where something before it is missing, the feed reads.
    pub(crate) fn logged(&self, logged: &LoggedChanges) {
        let feed = self.lock().get(&logged.workspace_id).and_then(Weak::upgrade);
        if let Some(feed) = feed
            && !feed.go_on_with(&logged.changes)
        {
            feed.wake.notify_one();
        }
    }

    /// Sends a workspace's changes after `cursor` until the subscription is over.
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

    async fn read(&self, workspace_id: &WorkspaceId, cursor: Sequence) -> Result<Vec<Sent>, StoreError> {
        let changes = self.store.changes_after(workspace_id, cursor, BATCH).await?;
        Ok(changes.into_iter().map(serialise).collect())
    }

    /// The workspace's feed, started if nobody followed the workspace before.
    fn feed(&self, workspace_id: &WorkspaceId, from: Sequence) -> Arc<Feed> {
        let mut feeds = self.lock();
        if let Some(feed) = feeds.get(workspace_id).and_then(Weak::upgrade) {
            return feed;
        }
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<WorkspaceId, Weak<Feed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the log into a feed for as long as somebody follows it.
async fn keep_reading(store: Store, feed: Weak<Feed>) {
    while let Some(feed) = feed.upgrade() {
        let cursor = *feed.head.borrow();
        match store.changes_after(&feed.workspace_id, cursor, BATCH).await {
            Ok(changes) => {
                let is_all = (changes.len() as u64) < BATCH;
                feed.push(changes);
                // What was committed since this read has left its wake behind, so nobody has to look again for it.
                if is_all {
                    let _ = tokio::time::timeout(LOOK_EVERY, feed.wake.notified()).await;
                }
            }
            Err(_) => tokio::time::sleep(RETRY_AFTER).await,
        }
    }
}

impl Feed {
    /// Takes what the log has after the head; some of it may have come another way meanwhile.
    fn push(&self, changes: Vec<Change>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let head = *self.head.borrow();
        self.extend(&mut recent, changes.into_iter().filter(|change| change.seq > head));
    }

    /// Takes changes that follow the newest one it has; false when something between is missing.
    fn go_on_with(&self, changes: &[Change]) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let head = *self.head.borrow();
        let new = changes.iter().skip_while(|change| change.seq <= head);
        if new.clone().next().is_some_and(|first| first.seq.0 != head.0 + 1) {
            return false;
        }
        self.extend(&mut recent, new.cloned());
        true
    }

    /// The head moves while the changes are locked, so that nobody else adds the same.
    fn extend(&self, recent: &mut Recent, changes: impl Iterator<Item = Change>) {
        let sent: Vec<Sent> = changes.map(serialise).collect();
        let Some(newest) = sent.last().map(|(seq, _)| *seq) else { return };
        recent.extend(sent.into_iter());
        self.head.send_replace(newest);
    }

    /// Some of the changes after a cursor, or none when the feed no longer remembers them.
    fn after(&self, cursor: Sequence) -> Option<Vec<Sent>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Adds the newest changes, and forgets the oldest that are too many then.
    fn extend(&mut self, changes: impl Iterator<Item = Sent>) {
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

/// What a change takes: its text, its place in the queue, and what counts its owners.
fn weight((_, frame): &Sent) -> usize {
    frame.as_ref().map_or(0, |frame| frame.as_str().len()) + 2 * size_of::<Sent>()
}

/// The parameters of a change, which are an object, with the fields of its origin at their end.
fn with_origin(mut params: String, origin: &ChangeOrigin) -> serde_json::Result<String> {
    let origin = serde_json::to_string(origin)?;
    if params.ends_with('}') {
        params.pop();
        if params.trim_end() != "{" {
            params.push(',');
        }
        params.push_str(&origin[1..]);
    }
    Ok(params)
}

fn serialise(change: Change) -> Sent {
    let Change { seq, origin, method, params } = change;
    let frame = with_origin(params, &origin)
        .and_then(RawValue::from_string)
        .and_then(|params| rpc::notification(&method, &params));
    if let Err(error) = &frame {
        tracing::error!(%seq, method, %error, "a change in the log cannot be read, and is not sent");
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
            params: params.into(),
        }
    }

    #[test]
    fn what_is_remembered_has_a_bound_in_bytes() {
        let feed = feed();
        let params = format!(r#"{{"text":"{}"}}"#, "x".repeat(500));
        for seq in 1..=10_000 {
            feed.push(vec![change(seq, &params)]);
        }
        let recent = feed.recent.lock().unwrap();
        assert_eq!(recent.bytes, recent.frames.iter().map(weight).sum::<usize>());
        assert!((REMEMBERED - 1_000..=REMEMBERED).contains(&recent.bytes), "{}", recent.bytes);
        assert_eq!(
            recent.floor.0,
            10_000 - recent.frames.len() as u64,
            "what comes after the floor is there"
        );
        let floor = recent.floor;
        drop(recent);
        assert_eq!(feed.after(floor).unwrap()[0].0, Sequence(floor.0 + 1));
        assert!(feed.after(Sequence(floor.0 - 1)).is_none(), "whoever is further behind reads the log");

        let larger_than_all = format!(r#"{{"text":"{}"}}"#, "x".repeat(REMEMBERED));
        feed.push(vec![change(10_001, &larger_than_all)]);
        assert!(feed.after(Sequence(10_000)).is_none(), "it comes from the log");
        assert_eq!(feed.after(Sequence(10_001)).unwrap(), []);
    }

    #[test]
    fn what_was_just_logged_is_taken_without_a_gap_and_once() {
        let feed = feed();
        let seen = || -> Vec<u64> { feed.after(Sequence(0)).unwrap().iter().map(|(seq, _)| seq.0).collect() };
        assert!(feed.go_on_with(&[change(1, "{}"), change(2, "{}")]));
        assert!(!feed.go_on_with(&[change(4, "{}")]), "the third is missing, so the log is read");
        assert_eq!(seen(), [1, 2]);
        feed.push(vec![change(3, "{}"), change(4, "{}")]);
        assert!(feed.go_on_with(&[change(3, "{}")]), "it came too late, and is there");
        assert!(feed.go_on_with(&[change(4, "{}"), change(5, "{}")]));
        feed.push(vec![change(5, "{}"), change(6, "{}")]);
        assert_eq!((seen(), *feed.head.borrow()), (vec![1, 2, 3, 4, 5, 6], Sequence(6)));
    }

    #[test]
    fn a_change_that_cannot_be_read_keeps_its_number() {
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
        // Otherwise whoever has the third would be told for ever that there is a fourth, and get nothing.
        assert_eq!((after(3), *feed.head.borrow()), (vec![(4, false)], Sequence(4)));
        assert_eq!(after(4), []);
    }

    #[test]
    fn a_change_without_parameters_has_an_origin_too() {
        let origin = ChangeOrigin { changed_at: Timestamp::from_milliseconds(0), changed_by: None };
        for params in ["{}", r#"{"text":"x"}"#] {
            let with_origin = with_origin(params.to_owned(), &origin).unwrap();
            let read: serde_json::Value = serde_json::from_str(&with_origin).unwrap();
            assert!(read.get("changed_at").is_some(), "{with_origin}");
        }
    }
}
