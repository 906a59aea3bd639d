//! Subscribers: one per workspace and gateway, from the first change to the last.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::ensure;
use client::{Target, WorkspaceFollower};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{Sequence, WorkspaceId};
use tokio::sync::watch;

use crate::torture::TortureReport;
use crate::torture::ledger::Ledger;

/// Summary of the notifications a subscriber received.
pub(crate) struct Followed {
    workspace_id: WorkspaceId,
    /// Number of notifications, received without gaps or repetitions.
    received: u64,
    /// Number of notifications about saves.
    saves: u64,
    /// Digest of all methods and parameters in order.
    digest: u64,
}

/// Follows a workspace from its first change to the one that `ended` names later.
pub(crate) async fn follow(
    target: Target,
    workspace_id: WorkspaceId,
    mut ended: watch::Receiver<Option<Sequence>>,
) -> anyhow::Result<Followed> {
    let mut changes = WorkspaceFollower::follow(target, workspace_id.clone(), Some(Sequence(0))).await?;
    let mut received = 0;
    let mut saves = 0;
    // A digest instead of the notifications themselves, which would fill the memory in a long run.
    let mut hasher = DefaultHasher::new();
    loop {
        // Looked up before every wait: the end may be announced before or after the last change arrives.
        if ended.borrow_and_update().is_some_and(|last| received >= last.0) {
            return Ok(Followed { workspace_id, received, saves, digest: hasher.finish() });
        }
        let event = tokio::select! {
            event = changes.next_change() => event?,
            changed = ended.changed() => {
                changed?;
                continue;
            }
        };
        received += 1;
        ensure!(
            event.seq == Sequence(received),
            "a subscriber received change {} as number {received}",
            event.seq
        );
        saves += u64::from(event.method == DocumentChanged::NAME);
        (event.method, event.params.get()).hash(&mut hasher);
    }
}

/// Checks that all subscribers of a workspace received the same notifications, one per save.
pub(crate) fn check(
    followed: &[Followed],
    ledger: &Ledger,
    report: &mut TortureReport,
) -> anyhow::Result<()> {
    let mut first: BTreeMap<&WorkspaceId, &Followed> = BTreeMap::new();
    for one in followed {
        let other = *first.entry(&one.workspace_id).or_insert(one);
        ensure!(
            (one.received, one.digest) == (other.received, other.digest),
            "two subscribers of {} received different notifications",
            one.workspace_id
        );
        let revisions = ledger.revisions_of(&one.workspace_id);
        ensure!(
            one.saves == revisions,
            "{revisions} saves are stored, but a subscriber received {}",
            one.saves
        );
        report.notifications += one.received;
    }
    report.subscribers = followed.len();
    Ok(())
}
