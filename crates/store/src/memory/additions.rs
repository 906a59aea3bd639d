//! Adding items to memory.

use futures_util::future::BoxFuture;
use memory::IndexTerms;
use protocol::limits::MAX_MEMORY_BYTES;
use protocol::{ContentHash, MemoryItem, MemoryItemId, MemoryStatus, Timestamp, TurnId};

use crate::column::{enum_str, values};
use crate::connection::Tx;
use crate::memory::items::{self, MemoryPlace, MemoryView};
use crate::tree::threads;
use crate::validation;
use crate::{Store, StoreError};

/// Items that one write marks as expired.
const BATCH: u64 = 1_000;

/// An item to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    pub place: MemoryPlace,
    pub category: String,
    pub text: String,
    /// The turn that it comes from, if a model added it.
    pub source_turn: Option<TurnId>,
    pub expires_at: Option<Timestamp>,
    /// The item that it replaces.
    pub supersedes: Option<MemoryItemId>,
}

/// An item that is remembered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub item: MemoryItem,
    /// Set if the same text was already remembered there.
    pub was_there: bool,
}

impl Store {
    /// Remembers an item. The same text is remembered once in each place.
    pub fn add_memory<'a>(
        &'a self,
        view: &'a MemoryView,
        new: NewMemory,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Added, StoreError>> {
        Box::pin(async move {
            check(&new, self.now())?;
            // Outside the job, because other writers wait for a running job.
            let terms = IndexTerms::of(&new.text);
            let view = view.clone();
            let actor = actor.map(str::to_owned);
            self.write(async move |tx: &mut Tx<'_>| add(tx, &view, &new, &terms, actor.as_deref()).await)
                .await
        })
    }

    /// Marks items past their time as expired and returns their number.
    pub fn expire_memories(&self, now: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            // Rows that another gateway is marking are left to it.
            let lock = if self.is_postgres() { " FOR UPDATE SKIP LOCKED" } else { "" };
            let sql = format!(
                "UPDATE memory_item SET status = 'expired' WHERE number IN (SELECT number FROM memory_item
                    WHERE status = 'active' AND expires_at <= $1 ORDER BY number LIMIT {BATCH}{lock})"
            );
            let mut expired = 0;
            loop {
                let sql = sql.clone();
                let batch =
                    self.write(async move |tx: &mut Tx<'_>| tx.execute(sql, values![now]).await).await?;
                expired += batch;
                if batch == 0 {
                    return Ok(expired);
                }
            }
        })
    }
}

pub(crate) fn check(new: &NewMemory, now: Timestamp) -> Result<(), StoreError> {
    validation::check("category", &new.category)?;
    validation::check_text("text", &new.text)?;
    if new.text.trim().is_empty() {
        return Err(StoreError::invalid("text", "must not be blank"));
    }
    if new.text.len() > MAX_MEMORY_BYTES {
        return Err(StoreError::TooLarge { limit: MAX_MEMORY_BYTES, actual: new.text.len() });
    }
    if let Some(at) = new.expires_at.filter(|at| *at <= now) {
        return Err(StoreError::invalid("expires_at", format!("must be a time to come, not {at}")));
    }
    Ok(())
}

pub(crate) async fn add(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    new: &NewMemory,
    terms: &IndexTerms,
    actor: Option<&str>,
) -> Result<Added, StoreError> {
    const SAME: &str =
        "SELECT id FROM memory_item WHERE status = 'active' AND scope = $1 AND text_sha256 = $2
        AND (owner = $3 OR scope = 'workspace' AND workspace_id = $4 OR thread_id = $5)";
    const EXPIRE_SAME: &str =
        "UPDATE memory_item SET status = 'expired' WHERE status = 'active' AND scope = $1
        AND text_sha256 = $2 AND (owner = $3 OR scope = 'workspace' AND workspace_id = $4 OR thread_id = $5)
        AND expires_at <= $6";
    let now = tx.now();
    match &new.place {
        MemoryPlace::User(_) => drop(tx.sequence(&view.workspace_id).await?),
        MemoryPlace::Workspace(workspace_id) => drop(tx.sequence(workspace_id).await?),
        MemoryPlace::Thread(workspace_id, thread_id) => {
            threads::find_or_missing(tx, workspace_id, thread_id).await?;
        }
    }
    let sha256 = ContentHash::of(&new.text);
    let scope = enum_str(new.place.scope());
    let owner = new.place.owner();
    let workspace_id = new.place.workspace_id();
    let thread_id = new.place.thread_id();
    // An item that has expired but is not marked yet must not block its text from being remembered again.
    tx.execute(EXPIRE_SAME, values![&scope, &sha256, owner, workspace_id, thread_id, now]).await?;
    let id = MemoryItemId::new();
    // The unique index decides whether the text is new, because two gateways may add it at the same time.
    if insert(tx, new, &id, &sha256, terms, actor).await? {
        if let Some(older) = &new.supersedes {
            supersede(tx, view, older, now).await?;
        }
        let item = items::find_or_missing(tx, &seeing(view, &new.place), &id, now).await?;
        return Ok(Added { item, was_there: false });
    }
    let values = values![&scope, &sha256, owner, workspace_id, thread_id];
    let same = tx.one_by_key(SAME, values, |mut row| row.next()).await?;
    let id: MemoryItemId =
        same.ok_or_else(|| StoreError::database("an item of memory is there and is not"))?;
    if let Some(older) = new.supersedes.as_ref().filter(|older| **older != id) {
        supersede(tx, view, older, now).await?;
    }
    let item = items::find_or_missing(tx, &seeing(view, &new.place), &id, now).await?;
    Ok(Added { item, was_there: true })
}

/// Returns a view that includes the items of a place, independent of the caller.
fn seeing(view: &MemoryView, place: &MemoryPlace) -> MemoryView {
    MemoryView {
        workspace_id: place.workspace_id().unwrap_or(&view.workspace_id).clone(),
        owner: place.owner().map(str::to_owned),
        thread_id: place.thread_id().cloned(),
    }
}

/// Inserts an item and its terms.
// Returns false if its text exists already.
async fn insert(
    tx: &mut Tx<'_>,
    new: &NewMemory,
    id: &MemoryItemId,
    sha256: &ContentHash,
    terms: &IndexTerms,
    actor: Option<&str>,
) -> Result<bool, StoreError> {
    const POSTGRES: &str =
        "INSERT INTO memory_item (id, scope, workspace_id, thread_id, owner, category, text,
            text_sha256, source_turn, status, created_at, created_by, expires_at, terms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'active', $10, $11, $12, CAST($13 AS tsvector))
        ON CONFLICT DO NOTHING";
    const SQLITE: &str = "INSERT INTO memory_item (id, scope, workspace_id, thread_id, owner, category, text,
            text_sha256, source_turn, status, created_at, created_by, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'active', $10, $11, $12)
        ON CONFLICT DO NOTHING";
    const SQLITE_TERMS: &str =
        "INSERT INTO memory_term (rowid, terms) SELECT number, $2 FROM memory_item WHERE id = $1";
    let scope = enum_str(new.place.scope());
    let written_terms = if tx.is_postgres() { vector(terms) } else { words(terms) };
    let mut values = values![
        id,
        &scope,
        new.place.workspace_id(),
        new.place.thread_id(),
        new.place.owner(),
        &new.category,
        &new.text,
        sha256,
        new.source_turn.as_ref(),
        tx.now(),
        actor,
        new.expires_at,
    ]
    .to_vec();
    if tx.is_postgres() {
        values.push((&written_terms).into());
        return Ok(tx.execute(POSTGRES, &values).await? == 1);
    }
    let is_new = tx.execute(SQLITE, &values).await? == 1;
    if is_new {
        tx.execute(SQLITE_TERMS, values![id, &written_terms]).await?;
    }
    Ok(is_new)
}

/// Formats terms for SQLite's index, each as often as it occurs.
fn words(terms: &IndexTerms) -> String {
    let all = terms.iter().flat_map(|(term, places)| std::iter::repeat_n(term, places.len()));
    all.collect::<Vec<_>>().join(" ")
}

/// Formats terms for PostgreSQL without its text search parser, whose rules depend on a locale.
fn vector(terms: &IndexTerms) -> String {
    /// PostgreSQL keeps no more positions of one term.
    const MAX_PLACES: usize = 255;
    let all = terms.iter().map(|(term, places)| {
        let places: Vec<String> = places.iter().take(MAX_PLACES).map(u32::to_string).collect();
        format!("'{term}':{}", places.join(","))
    });
    all.collect::<Vec<_>>().join(" ")
}

async fn supersede(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    id: &MemoryItemId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let item = items::find_or_missing(tx, view, id, now).await?;
    if item.status == MemoryStatus::Active {
        let update = "UPDATE memory_item SET status = 'superseded' WHERE id = $1 AND status = 'active'";
        tx.execute(update, values![id]).await?;
    }
    Ok(())
}
