//! Records of hook runs: written in batches, read by turn, forgotten by age.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{HookRunId, ThreadId, Timestamp, TurnId, WorkspaceId};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use serde_json::Value;

use crate::entity::{self, hook_run, thread, turn, workspace};
use crate::{Store, StoreError, name};

/// Rows of one statement; their values stay below what either database takes.
const BATCH: usize = 500;

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    /// Identifies the record.
    pub id: HookRunId,
    /// The workspace, if the run belonged to one.
    pub workspace_id: Option<WorkspaceId>,
    /// The thread, if the run belonged to one.
    pub thread_id: Option<ThreadId>,
    /// The turn, if the run belonged to one.
    pub turn_id: Option<TurnId>,
    /// The hook's package.
    pub package_id: String,
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// The phase.
    pub phase: String,
    /// What became of it.
    pub status: String,
    /// When it started.
    pub started_at: Timestamp,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// The whole record.
    pub record: Value,
}

/// A record to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHookRun {
    /// The workspace, if the run belonged to one.
    pub workspace_id: Option<WorkspaceId>,
    /// The thread, if the run belonged to one; then it has a workspace too.
    pub thread_id: Option<ThreadId>,
    /// The turn, if the run belonged to one; then it has a workspace too.
    pub turn_id: Option<TurnId>,
    /// The hook's package.
    pub package_id: String,
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// The phase.
    pub phase: String,
    /// What became of it.
    pub status: String,
    /// When it started.
    pub started_at: Timestamp,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// The whole record.
    pub record: Value,
}

impl Store {
    /// Keeps records, in their order: all of them, or none.
    pub async fn record_hook_runs(&self, runs: &[NewHookRun]) -> Result<(), StoreError> {
        runs.iter().try_for_each(check)?;
        if runs.is_empty() {
            return Ok(());
        }
        let transaction = self.begin_write().await?;
        check_owners(&transaction, runs).await?;
        for batch in runs.chunks(BATCH) {
            let rows = batch.iter().map(|run| to_row(run).into_active_model());
            hook_run::Entity::insert_many(rows).exec_without_returning(&transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The runs of a turn, by start.
    pub async fn hook_runs(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<HookRun>, StoreError> {
        let rows = hook_run::Entity::find()
            .filter(hook_run::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(hook_run::Column::TurnId.eq(turn_id.as_str()))
            .order_by_asc(hook_run::Column::StartedAt)
            .order_by_asc(hook_run::Column::Id)
            .all(self.readers())
            .await?;
        if rows.is_empty() {
            self.turn(workspace_id, turn_id).await?;
        }
        rows.into_iter().map(HookRun::try_from).collect()
    }

    /// Forgets the runs that started before a moment, of one workspace or of all, and says how many.
    pub async fn prune_hook_runs(
        &self,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut delete =
            hook_run::Entity::delete_many().filter(hook_run::Column::StartedAt.lt(older_than.milliseconds()));
        if let Some(workspace_id) = workspace_id {
            self.sequence(workspace_id).await?;
            delete = delete.filter(hook_run::Column::WorkspaceId.eq(workspace_id.as_str()));
        }
        let transaction = self.begin_write().await?;
        let deleted = delete.exec(&transaction).await?.rows_affected;
        transaction.commit().await?;
        Ok(deleted)
    }
}

fn check(run: &NewHookRun) -> Result<(), StoreError> {
    if run.workspace_id.is_none() && (run.thread_id.is_some() || run.turn_id.is_some()) {
        return Err(StoreError::invalid("workspace_id", "is needed where a thread or a turn is named"));
    }
    name::check_text("package_id", &run.package_id)?;
    name::check_text("hook_id", &run.hook_id)?;
    name::check_text("subscription_id", &run.subscription_id)?;
    name::check_text("phase", &run.phase)?;
    name::check_text("status", &run.status)
}

fn to_row(run: &NewHookRun) -> hook_run::Model {
    hook_run::Model {
        id: HookRunId::new().to_string(),
        workspace_id: run.workspace_id.clone().map(String::from),
        thread_id: run.thread_id.clone().map(String::from),
        turn_id: run.turn_id.clone().map(String::from),
        package_id: run.package_id.clone(),
        hook_id: run.hook_id.clone(),
        subscription_id: run.subscription_id.clone(),
        phase: run.phase.clone(),
        status: run.status.clone(),
        started_at: run.started_at.milliseconds(),
        duration_us: entity::to_column(run.duration_us),
        record: run.record.to_string(),
    }
}

/// Refuses workspaces, threads and turns that are not there, or are of another workspace.
async fn check_owners(connection: &impl ConnectionTrait, runs: &[NewHookRun]) -> Result<(), StoreError> {
    let (mut workspaces, mut threads, mut turns) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let Some(workspace_id) = run.workspace_id.as_ref().map(WorkspaceId::as_str) else { continue };
        workspaces.insert((workspace_id, workspace_id));
        threads.extend(run.thread_id.as_ref().map(|id| (id.as_str(), workspace_id)));
        turns.extend(run.turn_id.as_ref().map(|id| (id.as_str(), workspace_id)));
    }
    let columns = [workspace::Column::Id, workspace::Column::Id];
    check_there::<workspace::Entity>(connection, "workspace", columns, workspaces).await?;
    let columns = [thread::Column::Id, thread::Column::WorkspaceId];
    check_there::<thread::Entity>(connection, "thread", columns, threads).await?;
    let columns = [turn::Column::Id, turn::Column::WorkspaceId];
    check_there::<turn::Entity>(connection, "turn", columns, turns).await
}

/// Checks that each id is there, in the workspace beside it.
async fn check_there<E: EntityTrait>(
    connection: &impl ConnectionTrait,
    what: &'static str,
    [id, workspace_id]: [E::Column; 2],
    wanted: BTreeSet<(&str, &str)>,
) -> Result<(), StoreError> {
    let wanted: Vec<_> = wanted.into_iter().collect();
    for batch in wanted.chunks(BATCH) {
        let rows: Vec<(String, String)> = E::find()
            .select_only()
            .columns([id, workspace_id])
            .filter(id.is_in(batch.iter().map(|(id, _)| *id)))
            .into_tuple()
            .all(connection)
            .await?;
        let there: BTreeMap<String, String> = rows.into_iter().collect();
        let missing = batch.iter().find(|(id, owner)| there.get(*id).map(String::as_str) != Some(*owner));
        if let Some((id, _)) = missing {
            return Err(StoreError::not_found(what, id));
        }
    }
    Ok(())
}
