//! Deleting old records. The tables of hook runs, prompt texts, jobs and audit entries are pruned in their own modules.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ErrorSubject, Sequence, Timestamp, WorkspaceId};

use crate::column::values;
use crate::connection::Tx;
use crate::{Store, StoreError};

/// Rows that one write deletes.
const BATCH: usize = 1_000;

/// Selects the rows of a table that are older than `$1`, and the order of their deletion.
pub(crate) struct OldRows {
    pub(crate) delete: &'static str,
    pub(crate) select: &'static str,
    pub(crate) order: &'static str,
}

/// All manifests of a turn together, because later rounds refer to earlier ones.
const MANIFESTS: OldRows = OldRows {
    delete: "DELETE FROM prompt_manifest WHERE turn_id IN",
    select: "SELECT id FROM turn WHERE turn.status <> 'running'
        AND id IN (SELECT turn_id FROM prompt_manifest GROUP BY turn_id HAVING max(created_at) < $1)",
    order: "id",
};

impl Store {
    /// Deletes the changes before a time, of one workspace or all, and returns their number. Followers with an older
    /// sequence number have to reload the workspace.
    pub fn prune_changes<'a>(
        &'a self,
        workspace_id: Option<&'a WorkspaceId>,
        older_than: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let workspaces = match workspace_id {
                Some(workspace_id) => {
                    self.sequence(workspace_id).await?;
                    vec![workspace_id.clone()]
                }
                None => self.workspaces().await?.into_iter().map(|workspace| workspace.id).collect(),
            };
            let mut pruned = 0;
            for workspace_id in workspaces {
                pruned += self.prune_changes_of(workspace_id, older_than).await?;
            }
            Ok(pruned)
        })
    }

    async fn prune_changes_of(
        &self,
        workspace_id: WorkspaceId,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        // Sequence numbers grow with time, so a range scan up to the first newer change is enough. If all changes are
        // old, everything assigned so far is deleted, but nothing that is committed afterwards, which no follower has
        // read yet.
        const BEFORE: &str = "SELECT coalesce((SELECT seq FROM change_log
                WHERE workspace_id = w.id AND changed_at >= $2 ORDER BY seq LIMIT 1), w.seq + 1)
            FROM workspace w WHERE w.id = $1";
        let of = workspace_id.clone();
        let before: Option<i64> = self
            .read(async move |tx: &mut Tx<'_>| {
                tx.one_by_key(BEFORE, values![&of, older_than], |mut row| row.next()).await
            })
            .await?;
        let Some(before) = before else { return Ok(0) };
        // Oldest first and without gaps, because followers assume that nothing is missing after the oldest change.
        let lock = if self.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!(
            "DELETE FROM change_log WHERE workspace_id = $1 AND seq IN (SELECT seq FROM change_log
                WHERE workspace_id = $1 AND seq < $2 ORDER BY seq LIMIT {BATCH}{lock})"
        );
        let mut pruned = 0;
        loop {
            let sql = sql.clone();
            let of = workspace_id.clone();
            let batch =
                self.write(async move |tx: &mut Tx<'_>| tx.execute(sql, values![&of, before]).await).await?;
            pruned += batch;
            if batch == 0 {
                return Ok(pruned);
            }
        }
    }

    /// Checks that no changes after a sequence number are missing, and returns the newest number.
    ///
    /// [`StoreError::LogPruned`] means that some were pruned, or that the number was never assigned: the workspace has
    /// to be reloaded.
    pub fn check_since<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        since: Sequence,
    ) -> BoxFuture<'a, Result<Sequence, StoreError>> {
        const RANGE: &str = "SELECT w.seq, (SELECT min(seq) FROM change_log WHERE workspace_id = w.id)
        FROM workspace w WHERE w.id = $1";
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&workspace_id];
            let range: Option<(Sequence, Option<Sequence>)> =
                tx.one_by_key(RANGE, values, |mut row| Ok((row.next()?, row.next()?))).await?;
            let (newest, oldest) =
                range.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, &workspace_id))?;
            let oldest = oldest.unwrap_or_else(|| newest.next());
            if since > newest || since.next() < oldest {
                return Err(StoreError::LogPruned { since, oldest, newest });
            }
            Ok(newest)
        })
        .boxed()
    }

    /// Deletes the manifests of ended turns whose last one was made before a time, of one workspace or all, and returns
    /// their number.
    pub fn prune_manifests<'a>(
        &'a self,
        workspace_id: Option<&'a WorkspaceId>,
        older_than: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.prune(&MANIFESTS, workspace_id, older_than).boxed()
    }

    /// Deletes old rows in batches, so that other writers do not wait for all of them.
    pub(crate) async fn prune(
        &self,
        rows: &OldRows,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        let OldRows { delete, select, order } = *rows;
        if let Some(workspace_id) = workspace_id {
            self.sequence(workspace_id).await?;
        }
        let of_workspace = if workspace_id.is_some() { " AND workspace_id = $2" } else { "" };
        // Rows that another gateway is deleting or using are skipped.
        let lock = if self.is_postgres() { " FOR UPDATE SKIP LOCKED" } else { "" };
        // One text for all batches, so that it is prepared once.
        let sql = format!("{delete} ({select}{of_workspace} ORDER BY {order} LIMIT {BATCH}{lock})");
        let mut pruned = 0;
        loop {
            let sql = sql.clone();
            let workspace_id = workspace_id.cloned();
            let batch = self
                .write(async move |tx: &mut Tx<'_>| match &workspace_id {
                    Some(workspace_id) => tx.execute(sql, values![older_than, workspace_id]).await,
                    None => tx.execute(sql, values![older_than]).await,
                })
                .await?;
            pruned += batch;
            if batch == 0 {
                return Ok(pruned);
            }
        }
    }
}
