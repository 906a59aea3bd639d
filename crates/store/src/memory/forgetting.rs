//! Forgetting: first the item itself, then everything that carried its text, turn by turn.

// An item may have been recalled in very many turns, and a single transaction over all of them would block every
// writer. So the item is marked as deleted first, and from then on each new use of it is purged as it is written; the
// earlier turns are purged in batches, each in its own write. The remaining work is a row, so a purge survives its
// gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{
    AuditEvent, MemoryItem, MemoryItemId, MemoryRemoved, MemoryScope, MemoryStatus, Timestamp, TurnId,
    WorkspaceId,
};

use crate::column::{to_json, values};
use crate::connection::{Columns, Tx};
use crate::memory::items::{self, MemoryView};
use crate::memory::purge::{self, Carriers};
use crate::memory::uses::Carrier;
use crate::{Store, StoreError, audit};

/// Turns that one write purges.
const BATCH: u64 = 32;
/// Time without progress after which the gateway of a purge counts as gone.
const ABANDONED_AFTER: Duration = Duration::from_secs(30);

/// The remains of a forgotten item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub item: MemoryItem,
    pub removed: MemoryRemoved,
    /// Set if it had been forgotten before.
    pub was_forgotten: bool,
}

/// An unfinished purge.
struct Purge {
    scope: MemoryScope,
    workspace_id: Option<WorkspaceId>,
    actor: Option<String>,
    after_turn: String,
    removed: MemoryRemoved,
}

enum ForgettingProgress {
    More,
    Done(MemoryRemoved),
}

impl Store {
    /// Forgets an item and purges its text from everything that is recorded to carry it. Forgetting it again changes
    /// nothing, but completes an interrupted purge.
    pub fn forget_memory<'a>(
        &'a self,
        view: &'a MemoryView,
        id: &'a MemoryItemId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Forgotten, StoreError>> {
        Box::pin(async move {
            let view = view.clone();
            let item_id = id.clone();
            let actor = actor.map(str::to_owned);
            let mark = async move |tx: &mut Tx<'_>| mark(tx, &view, &item_id, actor.as_deref()).await;
            let (item, was_forgotten) = self.write(mark).await?;
            // Also if it had been forgotten before: the earlier purge may have been interrupted.
            let removed = self.purge_item(id).await?;
            Ok(Forgotten { item, removed, was_forgotten })
        })
    }

    /// Resumes purges that have made no progress for a while, and returns how many were completed.
    pub fn resume_purges(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(async move {
            const ABANDONED: &str =
                "SELECT item_id FROM memory_purge WHERE updated_at <= $1 ORDER BY updated_at LIMIT 100";
            let since = i64::try_from(ABANDONED_AFTER.as_millis()).unwrap_or(i64::MAX);
            let since = Timestamp::from_milliseconds(self.now().milliseconds().saturating_sub(since));
            let abandoned = self
                .read(async move |tx: &mut Tx<'_>| {
                    tx.all(ABANDONED, values![since], |mut row| row.next::<MemoryItemId>()).await
                })
                .await?;
            for id in &abandoned {
                self.purge_item(id).await?;
            }
            Ok(abandoned.len())
        })
    }

    /// Purges the text of a deleted item from everything that carried it.
    async fn purge_item(&self, id: &MemoryItemId) -> Result<MemoryRemoved, StoreError> {
        loop {
            let item_id = id.clone();
            let batch = async move |tx: &mut Tx<'_>| purge_batch(tx, &item_id).await;
            if let ForgettingProgress::Done(removed) = self.write(batch).await? {
                // The purged text must not remain readable in the write-ahead log.
                self.empty_log().await;
                return Ok(removed);
            }
        }
    }
}

/// Marks an item as deleted and records the pending purge.
// Also returns true if it had been deleted before.
async fn mark(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    id: &MemoryItemId,
    actor: Option<&str>,
) -> Result<(MemoryItem, bool), StoreError> {
    const FORGET: &str = "UPDATE memory_item SET status = 'deleted', text = NULL, text_sha256 = NULL
        WHERE id = $1 AND status <> 'deleted'";
    const PURGE: &str =
        "INSERT INTO memory_purge (item_id, workspace_id, actor, after_turn, removed, updated_at)
        VALUES ($1, $2, $3, '', $4, $5)";
    let now = tx.now();
    let item = items::find_or_missing(tx, view, id, now).await?;
    if item.status == MemoryStatus::Deleted {
        tx.discard();
        return Ok((item, true));
    }
    // A writer that records a use of the item waits for this row lock and then sees the deletion. The update changes no
    // row if another caller forgets the item at the same time.
    let is_first = tx.execute(FORGET, values![id]).await? > 0;
    if is_first {
        let about: Option<&WorkspaceId> = (item.scope != MemoryScope::User).then_some(&view.workspace_id);
        let removed = to_json(&MemoryRemoved::default())?;
        tx.execute(PURGE, values![id, about, actor, &removed, now]).await?;
    }
    Ok((items::find_or_missing(tx, view, id, now).await?, !is_first))
}

/// Purges the next turns that used an item.
// The last batch also ends the purge and records it in the audit log.
async fn purge_batch(tx: &mut Tx<'_>, id: &MemoryItemId) -> Result<ForgettingProgress, StoreError> {
    const TURNS: &str = "SELECT DISTINCT turn_id FROM memory_use WHERE item_id = $1 AND turn_id > $2
        ORDER BY turn_id LIMIT $3";
    const USES: &str = "SELECT workspace_id, turn_id, kind, place FROM memory_use
        WHERE item_id = $1 AND turn_id > $2 AND turn_id <= $3";
    const GO_ON: &str =
        "UPDATE memory_purge SET after_turn = $1, removed = $2, updated_at = $3 WHERE item_id = $4";
    let Some(Purge { scope, workspace_id, actor, after_turn, mut removed }) = find(tx, id).await? else {
        // There was no purge, or another gateway has completed it.
        tx.discard();
        return Ok(ForgettingProgress::Done(MemoryRemoved::default()));
    };
    let turns: Vec<TurnId> = tx.all(TURNS, values![id, &after_turn, BATCH], |mut row| row.next()).await?;
    if let Some(last) = turns.last() {
        let uses = tx
            .all(USES, values![id, &after_turn, last], |mut row| {
                Ok(((row.next::<WorkspaceId>()?, row.next::<TurnId>()?), Carrier::read(&mut row)?))
            })
            .await?;
        let mut by_turn: BTreeMap<(WorkspaceId, TurnId), Carriers> = BTreeMap::new();
        for (turn, carrier) in uses {
            by_turn.entry(turn).or_default().insert(carrier);
        }
        removed += purge::purge_turns(tx, &by_turn).await?;
        if turns.len() as u64 == BATCH {
            let now = tx.now();
            tx.execute(GO_ON, values![last, &to_json(&removed)?, now, id]).await?;
            return Ok(ForgettingProgress::More);
        }
    }
    tx.execute("DELETE FROM memory_purge WHERE item_id = $1", values![id]).await?;
    let event = AuditEvent::MemoryForgotten { item_id: id.clone(), scope, removed };
    audit::record(tx, actor.as_deref(), workspace_id.as_ref(), event).await?;
    Ok(ForgettingProgress::Done(removed))
}

/// Returns the locked purge of an item.
// The lock makes a second gateway wait for the first one's batch, and then continue after it.
async fn find(tx: &mut Tx<'_>, id: &MemoryItemId) -> Result<Option<Purge>, StoreError> {
    let lock = if tx.is_postgres() { " FOR UPDATE OF p" } else { "" };
    let select = format!(
        "SELECT m.scope, p.workspace_id, p.actor, p.after_turn, p.removed
        FROM memory_purge p JOIN memory_item m ON m.id = p.item_id WHERE p.item_id = $1{lock}"
    );
    let read = |mut row: Columns<'_>| {
        Ok(Purge {
            scope: row.next()?,
            workspace_id: row.next()?,
            actor: row.next()?,
            after_turn: row.next()?,
            removed: row.json("what was purged")?,
        })
    };
    tx.one_by_key(select, values![id], read).await
}
