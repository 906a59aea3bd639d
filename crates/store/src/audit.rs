//! The audit log: logins, rejections and decisions, with their actors.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{AuditEntry, AuditEntryId, AuditEvent, Timestamp, WorkspaceId};

use crate::column::{self, to_json, values};
use crate::connection::{Columns, Tx};
use crate::retention::OldRows;
use crate::{Store, StoreError};

const ENTRIES: OldRows = OldRows {
    delete: "DELETE FROM audit_entry WHERE id IN",
    select: "SELECT id FROM audit_entry WHERE at < $1",
    order: "at, id",
};

/// Selects audit entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only entries about this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Only entries at this time or later.
    pub since: Option<Timestamp>,
    /// Only entries older than this one.
    pub before: Option<AuditEntryId>,
    pub limit: u64,
}

/// Adds an entry in the transaction of the change that it records.
// An audited change and its entry are committed together, so neither exists without the other.
pub(crate) async fn record(
    tx: &mut Tx<'_>,
    actor: Option<&str>,
    workspace_id: Option<&WorkspaceId>,
    event: AuditEvent,
) -> Result<(), StoreError> {
    let entry = AuditEntry {
        // Ids are made in the order of time, so entries are listed by id and a page can continue after one.
        id: AuditEntryId::new(),
        at: tx.now(),
        actor: actor.map(str::to_owned),
        workspace_id: workspace_id.cloned(),
        event,
    };
    let row = (to_json(&entry.event)?, entry);
    insert(tx, &[row]).await
}

async fn insert(tx: &mut Tx<'_>, rows: &[(String, AuditEntry)]) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO audit_entry (id, at, kind, actor, workspace_id, event) VALUES";
    let mut columns: Vec<column::Value<'_>> = Vec::with_capacity(rows.len() * 6);
    for (event, entry) in rows {
        let kind = entry.event.kind();
        columns.extend_from_slice(values![
            &entry.id,
            entry.at,
            kind,
            &entry.actor,
            entry.workspace_id.as_ref(),
            event
        ]);
    }
    // Counted entries, such as logins in a row, are written again with the same id while their count grows.
    tx.insert(INSERT, 6, &columns, "ON CONFLICT (id) DO UPDATE SET event = excluded.event").await
}

fn read_entry(mut row: Columns<'_>) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        id: row.next()?,
        at: row.next()?,
        actor: row.next()?,
        workspace_id: row.next()?,
        event: row.json("audit entry")?,
    })
}

impl Store {
    /// Stores entries that belong to no other write. An entry that exists gets its newer counts.
    pub fn record_audit(&self, entries: Vec<AuditEntry>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if entries.is_empty() {
                return Ok(());
            }
            let rows = entries.into_iter().map(|entry| Ok((to_json(&entry.event)?, entry)));
            let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
            self.write(async move |tx: &mut Tx<'_>| insert(tx, &rows).await).await
        })
    }

    /// Returns entries, newest first.
    pub fn audit_entries(&self, filter: AuditFilter) -> BoxFuture<'_, Result<Vec<AuditEntry>, StoreError>> {
        let AuditFilter { workspace_id, since, before, limit } = filter;
        let mut sql = "SELECT id, at, actor, workspace_id, event FROM audit_entry WHERE at >= $1".to_owned();
        // Always bound, so that the text of the statement has the same first parameter with and without a limit in
        // time.
        let since = since.unwrap_or(Timestamp::from_milliseconds(i64::MIN));
        self.read(async move |tx: &mut Tx<'_>| {
            let mut values: Vec<column::Value<'_>> = vec![since.into()];
            if let Some(workspace_id) = &workspace_id {
                values.push(workspace_id.into());
                sql.push_str(&format!(" AND workspace_id = ${}", values.len()));
            }
            if let Some(before) = &before {
                values.push(before.into());
                sql.push_str(&format!(" AND id < ${}", values.len()));
            }
            values.push(limit.into());
            sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", values.len()));
            tx.all(sql.clone(), &values, read_entry).await
        })
        .boxed()
    }

    /// Deletes the entries before a time and returns their number.
    pub fn prune_audit(&self, older_than: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.prune(&ENTRIES, None, older_than).boxed()
    }
}
