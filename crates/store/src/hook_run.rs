//! Records of hook runs: written in batches, read by turn, forgotten by age.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{ErrorSubject, HookRunId, ThreadId, Timestamp, TurnId, WorkspaceId};
use serde_json::Value;

use crate::column::{self, values};
use crate::on::{Columns, MAX_ROWS, On, numbered};
use crate::{Store, StoreError, name, turn};

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
        let runs = runs.to_vec();
        self.write(async move |on: &mut On<'_>| {
            check_owners(on, &runs).await?;
            insert(on, &runs).await
        })
        .await
    }

    /// The runs of a turn, by start.
    pub async fn hook_runs(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<HookRun>, StoreError> {
        const RUNS: &str =
            "SELECT id, workspace_id, thread_id, turn_id, package_id, hook_id, subscription_id, phase,
            status, started_at, duration_us, record FROM hook_run
            WHERE workspace_id = $1 AND turn_id = $2 ORDER BY started_at, id";
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let runs = on.all(RUNS, values![&workspace_id, &turn_id], read_hook_run).await?;
            if runs.is_empty() {
                turn::find_or_missing(on, &workspace_id, &turn_id).await?;
            }
            Ok(runs)
        })
        .await
    }

    /// Forgets the runs that started before a moment, of one workspace or of all, and says how many.
    pub async fn prune_hook_runs(
        &self,
        workspace_id: Option<&WorkspaceId>,
        older_than: Timestamp,
    ) -> Result<u64, StoreError> {
        let workspace_id = workspace_id.cloned();
        self.write(async move |on: &mut On<'_>| match &workspace_id {
            Some(workspace_id) => {
                on.sequence(workspace_id).await?;
                let delete = "DELETE FROM hook_run WHERE started_at < $1 AND workspace_id = $2";
                on.execute(delete, values![older_than, workspace_id]).await
            }
            None => on.execute("DELETE FROM hook_run WHERE started_at < $1", values![older_than]).await,
        })
        .await
    }
}

fn read_hook_run(mut row: Columns<'_>) -> Result<HookRun, StoreError> {
    Ok(HookRun {
        id: row.next()?,
        workspace_id: row.next()?,
        thread_id: row.next()?,
        turn_id: row.next()?,
        package_id: row.next()?,
        hook_id: row.next()?,
        subscription_id: row.next()?,
        phase: row.next()?,
        status: row.next()?,
        started_at: row.next()?,
        duration_us: row.next()?,
        record: row.next()?,
    })
}

pub(crate) fn check(run: &NewHookRun) -> Result<(), StoreError> {
    if run.workspace_id.is_none() && (run.thread_id.is_some() || run.turn_id.is_some()) {
        return Err(StoreError::invalid("workspace_id", "is needed where a thread or a turn is named"));
    }
    name::check_text("package_id", &run.package_id)?;
    name::check_text("hook_id", &run.hook_id)?;
    name::check_text("subscription_id", &run.subscription_id)?;
    name::check_text("phase", &run.phase)?;
    name::check_text("status", &run.status)
}

pub(crate) async fn insert(on: &mut On<'_>, runs: &[NewHookRun]) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO hook_run (id, workspace_id, thread_id, turn_id, package_id, hook_id,
        subscription_id, phase, status, started_at, duration_us, record) VALUES";
    let made: Vec<(HookRunId, String)> =
        runs.iter().map(|run| (HookRunId::new(), run.record.to_string())).collect();
    let mut rows: Vec<column::Value<'_>> = Vec::with_capacity(runs.len() * 12);
    for (run, (id, record)) in runs.iter().zip(&made) {
        rows.extend_from_slice(values![
            id,
            run.workspace_id.as_ref(),
            run.thread_id.as_ref(),
            run.turn_id.as_ref(),
            &run.package_id,
            &run.hook_id,
            &run.subscription_id,
            &run.phase,
            &run.status,
            run.started_at,
            run.duration_us,
            record,
        ]);
    }
    on.insert(INSERT, 12, &rows, "").await
}

/// Refuses workspaces, threads and turns that are not there, or are of another workspace.
async fn check_owners(on: &mut On<'_>, runs: &[NewHookRun]) -> Result<(), StoreError> {
    let (mut workspaces, mut threads, mut turns) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let Some(workspace_id) = run.workspace_id.as_ref().map(WorkspaceId::as_str) else { continue };
        workspaces.insert((workspace_id, workspace_id));
        threads.extend(run.thread_id.as_ref().map(|id| (id.as_str(), workspace_id)));
        turns.extend(run.turn_id.as_ref().map(|id| (id.as_str(), workspace_id)));
    }
    check_there(on, ErrorSubject::Workspace, "SELECT id, id FROM workspace WHERE id IN", workspaces).await?;
    check_there(on, ErrorSubject::Thread, "SELECT id, workspace_id FROM thread WHERE id IN", threads).await?;
    check_there(on, ErrorSubject::Turn, "SELECT id, workspace_id FROM turn WHERE id IN", turns).await
}

/// Checks that each id is there, in the workspace beside it.
async fn check_there(
    on: &mut On<'_>,
    what: ErrorSubject,
    select: &'static str,
    wanted: BTreeSet<(&str, &str)>,
) -> Result<(), StoreError> {
    let wanted: Vec<_> = wanted.into_iter().collect();
    for batch in wanted.chunks(MAX_ROWS) {
        let ids: Vec<column::Value<'_>> = batch.iter().map(|(id, _)| column::Value::from(*id)).collect();
        let select = format!("{select} ({})", numbered(1, ids.len()));
        let rows = on.all(select, &ids, |mut row| Ok((row.next()?, row.next()?))).await?;
        let there: BTreeMap<String, String> = rows.into_iter().collect();
        let missing = batch.iter().find(|(id, owner)| there.get(*id).map(String::as_str) != Some(*owner));
        if let Some((id, _)) = missing {
            return Err(StoreError::not_found(what, id));
        }
    }
    Ok(())
}
