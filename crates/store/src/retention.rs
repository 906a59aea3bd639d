//! Forgetting what is old. Hook runs and prompt texts forget beside what they keep; here are the log and the manifests.

use protocol::{ErrorSubject, Sequence, Timestamp, WorkspaceId};

use crate::column::values;
use crate::on::On;
use crate::{Store, StoreError};

impl Store {
    /// Forgets the changes that happened before a moment, of one workspace or of all, and says how many. Nothing else
    /// is lost with them: whoever follows from an older number has to read everything anew.
    pub async fn prune_changes(
        &self,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        let workspaces = match workspace_id {
            Some(workspace_id) => {
                self.sequence(workspace_id).await?;
                vec![workspace_id.clone()]
            }
            None => self.workspaces().await?.into_iter().map(|workspace| workspace.id).collect(),
        };
        let mut pruned = 0;
        for workspace_id in workspaces {
            // Numbers grow with time, so that only what goes is looked at, up to the first that stays.
            let first = "SELECT seq FROM change_log WHERE workspace_id = $1 AND changed_at >= $2 ORDER BY seq LIMIT 1";
            let delete = "DELETE FROM change_log WHERE workspace_id = $1 AND seq < $2";
            pruned += self
                .write(async move |on: &mut On<'_>| {
                    let stays: Option<i64> = on
                        .one_by_key(first, values![&workspace_id, older_than], |mut row| row.next())
                        .await?;
                    on.execute(delete, values![&workspace_id, stays.unwrap_or(i64::MAX)]).await
                })
                .await?;
        }
        Ok(pruned)
    }

    /// Checks that nothing is missing after a sequence number, and answers with the newest one.
    ///
    /// [`StoreError::LogPruned`] says that what came after it is forgotten, or that the number was never given out:
    /// then the workspace has to be read anew.
    pub async fn check_since(
        &self,
        workspace_id: &WorkspaceId,
        since: Sequence,
    ) -> Result<Sequence, StoreError> {
        const RANGE: &str = "SELECT w.seq, (SELECT min(seq) FROM change_log WHERE workspace_id = w.id)
            FROM workspace w WHERE w.id = $1";
        let workspace_id = workspace_id.clone();
        self.read(async move |on: &mut On<'_>| {
            let values = values![&workspace_id];
            let range: Option<(Sequence, Option<Sequence>)> =
                on.one_by_key(RANGE, values, |mut row| Ok((row.next()?, row.next()?))).await?;
            let (newest, oldest) =
                range.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, &workspace_id))?;
            let oldest = oldest.unwrap_or_else(|| newest.next());
            if since > newest || since.next() < oldest {
                return Err(StoreError::LogPruned { since, oldest, newest });
            }
            Ok(newest)
        })
        .await
    }

    /// Forgets the manifests of ended turns that were made before a moment, of one workspace or of all, and says how
    /// many.
    pub async fn prune_manifests(
        &self,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        const ALL: &str = "DELETE FROM prompt_manifest WHERE created_at < $1
            AND turn_id NOT IN (SELECT id FROM turn WHERE turn.status = 'running')";
        const OF_ONE: &str = "DELETE FROM prompt_manifest WHERE created_at < $1 AND workspace_id = $2
            AND turn_id NOT IN (SELECT id FROM turn WHERE turn.status = 'running')";
        let workspace_id = workspace_id.cloned();
        self.write(async move |on: &mut On<'_>| match &workspace_id {
            Some(workspace_id) => {
                on.sequence(workspace_id).await?;
                on.execute(OF_ONE, values![older_than, workspace_id]).await
            }
            None => on.execute(ALL, values![older_than]).await,
        })
        .await
    }
}
