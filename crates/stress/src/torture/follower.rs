//! Subscribers: one of each workspace at each gateway, from the first change to the last.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::ensure;
use client::{Events, Target};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{Sequence, WorkspaceId};
use tokio::sync::watch;

use crate::torture::Report;
use crate::torture::ledger::Ledger;

/// What a subscriber was told, in short.
pub(crate) struct Followed {
    workspace_id: WorkspaceId,
    /// Notifications, whose numbers had no gap and no repetition.
    told: u64,
    /// Those of saves.
    saves: u64,
    /// Of all their methods and parameters, in their order.
    digest: u64,
}

/// Follows a workspace from its beginning up to the change that `ended` names later.
pub(crate) async fn follow(
    target: Target,
    workspace_id: WorkspaceId,
    mut ended: watch::Receiver<Option<Sequence>>,
) -> anyhow::Result<Followed> {
    let mut events = Events::follow(target, workspace_id.clone(), Some(Sequence(0))).await?;
    let mut told = 0;
    let mut saves = 0;
    let mut hasher = DefaultHasher::new();
    loop {
        if ended.borrow_and_update().is_some_and(|last| told >= last.0) {
            return Ok(Followed { workspace_id, told, saves, digest: hasher.finish() });
        }
        let event = tokio::select! {
            event = events.next() => event?,
            changed = ended.changed() => {
                changed?;
                continue;
            }
        };
        told += 1;
        ensure!(event.seq == Sequence(told), "a subscriber was told change {} as number {told}", event.seq);
        saves += u64::from(event.method == DocumentChanged::NAME);
        (event.method, event.params.get()).hash(&mut hasher);
    }
}

/// All subscribers of a workspace were told the same, and of each save once.
pub(crate) fn check(followed: &[Followed], ledger: &Ledger, report: &mut Report) -> anyhow::Result<()> {
    let mut first: BTreeMap<&WorkspaceId, &Followed> = BTreeMap::new();
    for one in followed {
        let other = *first.entry(&one.workspace_id).or_insert(one);
        ensure!(
            (one.told, one.digest) == (other.told, other.digest),
            "two subscribers of {} were told different things",
            one.workspace_id
        );
        let revisions = ledger.revisions_of(&one.workspace_id);
        ensure!(
            one.saves == revisions,
            "{revisions} saves are there, a subscriber was told of {}",
            one.saves
        );
        report.notifications += one.told;
    }
    report.subscribers = followed.len();
    Ok(())
}
