//! Looking for what is remembered, by its terms.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use memory::QueryTerms;
use protocol::{MemoryItem, ThreadId};

use crate::column::{Value, to_json};
use crate::connection::Tx;
use crate::memory::items::{self, MemoryFilter, MemoryView, is_visible, memory_columns, read_item};
use crate::{Store, StoreError};

/// Which items a query finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordMatch {
    /// Those that have all its terms.
    All,
    /// Those that have any of them.
    Any,
    /// Those that have all; where none has, those that have any.
    AllElseAny,
}

impl Store {
    /// Active items that have words, best first.
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

    /// What a turn could be told: the newest items of a category that is always recalled, and those that have words of the
    /// message, best first. What the thread's model has before it already is not among them.
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

/// What a turn could be told of what is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recallable {
    pub always: Vec<MemoryItem>,
    pub found: Vec<MemoryItem>,
}

/// A query in the words of a database. Terms are letters and digits, so that nothing in them has to be escaped.
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

/// How SQLite is asked. It must ask its index of words once, and not once for every item that somebody could see: which of two
/// tables comes first is its own choice unless it is told.
mod sqlite {
    use super::{is_visible, memory_columns};

    /// The best of everybody's, of which few are usually somebody else's.
    pub(super) const BEST: &str = "SELECT number FROM
        (SELECT rowid AS number, rank FROM memory_term WHERE memory_term MATCH $1 ORDER BY rank LIMIT $2)
        ORDER BY rank, number DESC";
    /// Those of them that somebody may see.
    pub(super) const NUMBERED: &str = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM json_each($5) found CROSS JOIN memory_item m ON m.number = found.value
            WHERE m.status = 'active' AND (m.expires_at IS NULL OR m.expires_at > $1) AND ",
        is_visible!(),
        " ORDER BY found.key LIMIT $6"
    );
    /// All that match, each looked at: only where the best were not enough.
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
