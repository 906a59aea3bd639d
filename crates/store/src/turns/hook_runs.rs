//! Records of hook runs: written in batches, read by turn, pruned by age.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};

use protocol::hook::HookRun;
use protocol::{ErrorSubject, HookRunId, Timestamp, TurnId, WorkspaceId};

use crate::column::{self, to_json, values};
use crate::connection::{MAX_ROWS, Statement, Tx, inserts, numbered};
use crate::retention::OldRows;
use crate::turns::turn;
use crate::validation;
use crate::{Store, StoreError};

const HOOK_RUNS: OldRows = OldRows {
    delete: "DELETE FROM hook_run WHERE id IN",
    select: "SELECT id FROM hook_run WHERE started_at < $1",
    order: "started_at, id",
};

impl Store {
    /// Stores records in their order: all of them or none.
    pub fn record_hook_runs<'a>(&'a self, runs: &'a [HookRun]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if runs.is_empty() {
                return Ok(());
            }
            let rows = prepare(runs.to_vec())?;
            self.write(async move |tx: &mut Tx<'_>| {
                check_owners(tx, &rows).await?;
                tx.execute_all(insert(&rows)).await
            })
            .await
        })
    }

    /// Returns the hook runs of a turn, by start.
    pub fn hook_runs<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<HookRun>, StoreError>> {
        const RUNS: &str =
            "SELECT record FROM hook_run WHERE workspace_id = $1 AND turn_id = $2 ORDER BY started_at, id";
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&workspace_id, &turn_id];
            let runs = tx.all(RUNS, values, |mut row| row.json("hook run")).await?;
            if runs.is_empty() {
                turn::find_or_missing(tx, &workspace_id, &turn_id).await?;
            }
            Ok(runs)
        })
        .boxed()
    }

    /// Deletes runs that started before a time, of one workspace or all, and returns their number.
    pub fn prune_hook_runs<'a>(
        &'a self,
        workspace_id: Option<&'a WorkspaceId>,
        older_than: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.prune(&HOOK_RUNS, workspace_id, older_than).boxed()
    }
}

/// A run in its stored form: `record` is complete, and the other columns only serve queries.
#[derive(Clone)]
pub(crate) struct HookRunRow {
    id: HookRunId,
    run: HookRun,
    phase: &'static str,
    status: &'static str,
    record: String,
}

pub(crate) fn prepare(runs: Vec<HookRun>) -> Result<Vec<HookRunRow>, StoreError> {
    let rows = runs.into_iter().map(|run| {
        check(&run)?;
        let record = to_json(&run)?;
        Ok(HookRunRow {
            id: HookRunId::new(),
            phase: run.phase.name(),
            status: run.status.name(),
            record,
            run,
        })
    });
    rows.collect()
}

fn check(run: &HookRun) -> Result<(), StoreError> {
    if run.workspace_id.is_none() && (run.thread_id.is_some() || run.turn_id.is_some()) {
        return Err(StoreError::invalid("workspace_id", "is needed where a thread or a turn is named"));
    }
    validation::check_text("package_id", &run.package_id)?;
    validation::check_text("hook_id", &run.hook_id)?;
    validation::check_text("subscription_id", &run.subscription_id)
}

pub(crate) fn insert(rows: &[HookRunRow]) -> Vec<Statement<'_>> {
    const INSERT: &str = "INSERT INTO hook_run (id, workspace_id, thread_id, turn_id, package_id, hook_id,
        subscription_id, phase, status, started_at, duration_us, record) VALUES";
    let mut columns: Vec<column::Value<'_>> = Vec::with_capacity(rows.len() * 12);
    for HookRunRow { id, run, phase, status, record } in rows {
        columns.extend_from_slice(values![
            id,
            run.workspace_id.as_ref(),
            run.thread_id.as_ref(),
            run.turn_id.as_ref(),
            &run.package_id,
            &run.hook_id,
            &run.subscription_id,
            *phase,
            *status,
            run.started_at,
            run.duration_us,
            record,
        ]);
    }
    inserts(INSERT, 12, &columns, "")
}

/// Rejects workspaces, threads and turns that do not exist or belong to another workspace.
async fn check_owners(tx: &mut Tx<'_>, rows: &[HookRunRow]) -> Result<(), StoreError> {
    let mut workspaces = BTreeSet::new();
    let mut threads = BTreeSet::new();
    let mut turns = BTreeSet::new();
    for HookRunRow { run, .. } in rows {
        let Some(workspace_id) = run.workspace_id.as_ref().map(WorkspaceId::as_str) else { continue };
        workspaces.insert((workspace_id, workspace_id));
        threads.extend(run.thread_id.as_ref().map(|id| (id.as_str(), workspace_id)));
        turns.extend(run.turn_id.as_ref().map(|id| (id.as_str(), workspace_id)));
    }
    check_there(tx, ErrorSubject::Workspace, "SELECT id, id FROM workspace WHERE id IN", workspaces).await?;
    check_there(tx, ErrorSubject::Thread, "SELECT id, workspace_id FROM thread WHERE id IN", threads).await?;
    check_there(tx, ErrorSubject::Turn, "SELECT id, workspace_id FROM turn WHERE id IN", turns).await
}

/// Checks that each id exists in the workspace beside it.
async fn check_there(
    tx: &mut Tx<'_>,
    what: ErrorSubject,
    select: &'static str,
    wanted: BTreeSet<(&str, &str)>,
) -> Result<(), StoreError> {
    let wanted: Vec<_> = wanted.into_iter().collect();
    // Foreign keys would reject missing rows too, but without naming the one that is missing, and they ignore
    // workspaces.
    for batch in wanted.chunks(MAX_ROWS) {
        let ids: Vec<column::Value<'_>> = batch.iter().map(|(id, _)| column::Value::from(*id)).collect();
        let select = format!("{select} ({})", numbered(1, ids.len()));
        let rows = tx.all(select, &ids, |mut row| Ok((row.next()?, row.next()?))).await?;
        let there: BTreeMap<String, String> = rows.into_iter().collect();
        let missing = batch.iter().find(|(id, owner)| there.get(*id).map(String::as_str) != Some(*owner));
        if let Some((id, _)) = missing {
            return Err(StoreError::not_found(what, id));
        }
    }
    Ok(())
}
