//! Subscribers that must receive every change of a workspace in order.

use std::sync::Arc;

use anyhow::ensure;
use client::{ClientError, WorkspaceFollower};
use protocol::Sequence;
use tokio::sync::watch;

use crate::load::stage::LoadedWorkspace;

pub(crate) struct Follower {
    changes: WorkspaceFollower,
    /// Last change before the subscription.
    since: Sequence,
    /// Last change to wait for, once it is known.
    ended: watch::Receiver<Option<Sequence>>,
}

impl Follower {
    pub(crate) async fn begin(
        place: Arc<LoadedWorkspace>,
        since: Sequence,
        ended: watch::Receiver<Option<Sequence>>,
    ) -> Result<Self, ClientError> {
        let changes =
            WorkspaceFollower::follow(place.target.clone(), place.workspace_id.clone(), Some(since)).await?;
        Ok(Self { changes, since, ended })
    }

    /// Receives changes up to the last one and returns their number.
    pub(crate) async fn follow(mut self) -> anyhow::Result<u64> {
        let mut newest = self.since;
        loop {
            if self.ended.borrow_and_update().is_some_and(|last| newest >= last) {
                return Ok(newest.0 - self.since.0);
            }
            let event = tokio::select! {
                event = self.changes.next_change() => event?,
                changed = self.ended.changed() => {
                    changed?;
                    continue;
                }
            };
            ensure!(event.seq.0 == newest.0 + 1, "a subscriber received change {} after {newest}", event.seq);
            newest = event.seq;
        }
    }
}
