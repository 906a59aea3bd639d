//! Searching memory by terms.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use memory::QueryTerms;
use protocol::{MemoryItem, ThreadId};

use crate::column::{Value, to_json};
use crate::connection::Tx;
use crate::memory::items::{self, MemoryFilter, MemoryView, is_visible, memory_columns, read_item};
use crate::{Store, StoreError};

/// Combination of the terms of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordMatch {
    /// Items with all terms.
    All,
    /// Items with any term.
    Any,
    /// Items with all terms; if there are none, items with any.
    AllElseAny,
}

impl Store {
    /// Returns active items that match terms, best first.
    pub fn search_memory<'a>(
        &'a self,
        view: &'a MemoryView,
        terms: &'a QueryTerms,
        matching: WordMatch,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<MemoryItem>, StoreError>> {
        let view = view.clone();
        let terms = terms.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            if terms.is_empty() {
                tx.sequence(&view.workspace_id).await?;
                return Ok(Vec::new());
            }
            let first = if matching == WordMatch::AllElseAny { WordMatch::All } else { matching };
            let found = search(tx, &view, &terms, first, limit).await?;
            if matching != WordMatch::AllElseAny || !found.is_empty() || terms.len() < 2 {
                return Ok(found);
            }
            search(tx, &view, &terms, WordMatch::Any, limit).await
        })
        .boxed()
    }

    /// Returns items that a turn could recall: the newest ones of the category that is always recalled, and those that
    /// match terms of the message, best first. Items that the thread's model already has in its context are excluded.
    pub fn memories_to_recall<'a>(
        &'a self,
        view: &'a MemoryView,
        thread_id: &'a ThreadId,
        always: &'a str,
        terms: &'a QueryTerms,
        limit: u64,
    ) -> BoxFuture<'a, Result<Recallable, StoreError>> {
        let filter = MemoryFilter { category: Some(always.to_owned()), limit, ..MemoryFilter::default() };
        let view = view.clone();
        let thread_id = thread_id.clone();
        let terms = terms.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let now = tx.now();
            let mut always = items::list(tx, &view, &filter, now).await?;
            let mut found = Vec::new();
            if !terms.is_empty() {
                // Four times as many as needed, because those that the thread already knows are removed below.
                found = search(tx, &view, &terms, WordMatch::Any, limit * 4).await?;
            }
            if !(always.is_empty() && found.is_empty()) {
                let told = items::recalled(tx, &view, &thread_id).await?;
                always.retain(|item| !told.contains(&item.id));
                found.retain(|item| !told.contains(&item.id) && !always.iter().any(|it| it.id == item.id));
            }
            Ok(Recallable { always, found })
        })
        .boxed()
    }
}

/// Items that a turn could recall.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recallable {
    pub always: Vec<MemoryItem>,
    pub found: Vec<MemoryItem>,
}

/// Formats a query for the database.
// Terms are letters and digits, so nothing needs escaping.
fn expression(tx: &Tx<'_>, terms: &QueryTerms, matching: WordMatch) -> String {
    let (quote, between) = match (tx.is_postgres(), matching) {
        (true, WordMatch::Any) => ('\'', " | "),
        (true, _) => ('\'', " & "),
        (false, WordMatch::Any) => ('"', " OR "),
        (false, _) => ('"', " AND "),
    };
    let quoted: Vec<String> = terms.iter().map(|term| format!("{quote}{term}{quote}")).collect();
    quoted.join(between)
}

async fn search(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    terms: &QueryTerms,
    matching: WordMatch,
    limit: u64,
) -> Result<Vec<MemoryItem>, StoreError> {
    const POSTGRES: &str = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM memory_item m WHERE m.terms @@ CAST($5 AS tsquery) AND m.status = 'active'
            AND (m.expires_at IS NULL OR m.expires_at > $1) AND ",
        is_visible!(),
        " ORDER BY ts_rank(m.terms, CAST($5 AS tsquery)) DESC, m.number DESC LIMIT $6"
    );
    let text = expression(tx, terms, matching);
    let [workspace, owner, thread] = view.values();
    let now = tx.now();
    if tx.is_postgres() {
        let values = [Value::from(now), workspace, owner, thread, Value::from(&text), Value::from(limit)];
        return tx.all(POSTGRES, &values, |mut row| read_item(&mut row)).await;
    }
    // The index knows nothing about visibility, so more rows than needed are read before they are filtered.
    let most = limit * 4 + 32;
    let best: Vec<i64> =
        tx.all(sqlite::BEST, &[Value::from(&text), Value::from(most)], |mut row| row.next()).await?;
    let numbers = to_json(&best)?;
    let values = [Value::from(now), workspace, owner, thread, Value::from(&numbers), Value::from(limit)];
    let found = tx.all(sqlite::NUMBERED, &values, |mut row| read_item(&mut row)).await?;
    if found.len() as u64 == limit || (best.len() as u64) < most {
        return Ok(found);
    }
    let values = [Value::from(now), workspace, owner, thread, Value::from(&text), Value::from(limit)];
    tx.all(sqlite::ALL, &values, |mut row| read_item(&mut row)).await
}

/// The queries for SQLite.
// They must visit the word index once, and not once for each visible item. CROSS JOIN fixes the order of the tables,
// which the planner would otherwise choose itself.
mod sqlite {
    use super::{is_visible, memory_columns};

    /// The best items of all users, few of which usually belong to others.
    pub(super) const BEST: &str = "SELECT number FROM
        (SELECT rowid AS number, rank FROM memory_term WHERE memory_term MATCH $1 ORDER BY rank LIMIT $2)
        ORDER BY rank, number DESC";
    /// The visible ones among them.
    pub(super) const NUMBERED: &str = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM json_each($5) found CROSS JOIN memory_item m ON m.number = found.value
            WHERE m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $1) AND ",
        is_visible!(),
        " ORDER BY found.key LIMIT $6"
    );
    /// All matching items, each checked for visibility.
    // Only needed if the best ones were not enough.
    pub(super) const ALL: &str = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM memory_term CROSS JOIN memory_item m ON m.number = memory_term.rowid
            WHERE memory_term MATCH $5 AND m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $1) AND ",
        is_visible!(),
        " ORDER BY memory_term.rank, m.number DESC LIMIT $6"
    );
}

#[cfg(test)]
mod tests;
