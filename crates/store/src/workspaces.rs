//! Workspaces: creation, settings, archiving.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::notification::TreeChange;
use protocol::{AgentsConfig, AuditEvent, ErrorSubject, Sequence, Workspace, WorkspaceId};

use crate::column::{to_json, values};
use crate::connection::{Columns, Tx};
use crate::validation;
use crate::write::workspace_write::WorkspaceWrite;
use crate::{Store, StoreError};

/// The columns that [`read_workspace`] reads, of a table that is called `w`.
macro_rules! workspace_columns {
    () => {
        "w.id, w.name, w.root_path, w.agents, w.created_at, w.updated_at, w.archived_at"
    };
}

pub(crate) use workspace_columns;

pub(crate) fn read_workspace(row: &mut Columns<'_>) -> Result<Workspace, StoreError> {
    Ok(Workspace {
        id: row.next()?,
        name: row.next()?,
        root_path: row.next()?,
        agents: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
        archived_at: row.next()?,
    })
}

impl Store {
    pub fn create_workspace<'a>(
        &'a self,
        new: WorkspaceCreateParams,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO workspace (id, name, root_path, agents, seq, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6)
            ON CONFLICT (name) WHERE archived_at IS NULL DO NOTHING";
            validation::check("name", &new.name)?;
            new.root_path.as_deref().map_or(Ok(()), validation::check_root_path)?;
            let agents = agents_column(new.agents.as_ref())?;
            let actor = actor.map(str::to_owned);
            self.write(async move |tx: &mut Tx<'_>| {
                let id = WorkspaceId::new();
                let first = Sequence(1);
                // The row does not exist yet, so it is inserted with its first number instead of taking one.
                let mut write = WorkspaceWrite::numbered(tx, id.clone(), actor, first);
                let now = write.now;
                let values = values![&id, &new.name, &new.root_path, &agents, first, now];
                if write.tx.execute(INSERT, values).await? == 0 {
                    return Err(taken(new.name));
                }
                if new.root_path.is_some() {
                    let event = AuditEvent::WorkspaceRootChanged { from: None, to: new.root_path.clone() };
                    write.audit(event).await?;
                }
                write.tree_changed(TreeChange::WorkspaceCreated, None, None)?;
                write.finish().await?;
                let WorkspaceCreateParams { name, root_path, agents } = new;
                let created_at = now;
                let updated_at = now;
                Ok(Workspace { id, name, root_path, agents, created_at, updated_at, archived_at: None })
            })
            .await
        })
    }

    /// Changes a workspace's settings.
    pub fn update_workspace<'a>(
        &'a self,
        changes: WorkspaceUpdateParams,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        Box::pin(async move {
            const UPDATE: &str =
                "UPDATE workspace SET name = $1, root_path = $2, agents = $3, updated_at = $4 WHERE id = $5";
            changes.name.as_deref().map_or(Ok(()), |name| validation::check("name", name))?;
            changes.root_path.as_deref().map_or(Ok(()), validation::check_root_path)?;
            agents_column(changes.agents.as_ref())?;
            let workspace_id = changes.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let before = find(write.tx, &write.workspace_id).await?;
                let mut after = before.clone();
                after.name = changes.name.unwrap_or(after.name);
                after.root_path = changes.root_path.or(after.root_path);
                after.agents = changes.agents.or(after.agents);
                if after == before {
                    return Ok(before);
                }
                if after.name != before.name && after.archived_at.is_none() {
                    // Archived workspaces may share a name, so only active ones are checked.
                    check_free(write.tx, &after.name).await?;
                }
                after.updated_at = write.now;
                let agents = agents_column(after.agents.as_ref())?;
                let values = values![&after.name, &after.root_path, &agents, after.updated_at, &after.id];
                write.tx.execute(UPDATE, values).await?;
                if after.root_path != before.root_path {
                    let from = before.root_path;
                    let to = after.root_path.clone();
                    write.audit(AuditEvent::WorkspaceRootChanged { from, to }).await?;
                }
                write.tree_changed(TreeChange::WorkspaceUpdated, None, None)?;
                Ok(after)
            })
            .await
        })
    }

    /// Hides a workspace and frees its name. An archived one is left as it is.
    pub fn archive_workspace<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        self.set_archived(workspace_id, TreeChange::WorkspaceArchived, actor)
    }

    /// Restores an archived workspace. Fails if another one has its name by now.
    pub fn restore_workspace<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        self.set_archived(workspace_id, TreeChange::WorkspaceRestored, actor)
    }

    fn set_archived<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        change: TreeChange,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        const UPDATE: &str = "UPDATE workspace SET archived_at = $1, updated_at = $2 WHERE id = $3";
        self.write_workspace(workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
            let before = find(write.tx, &write.workspace_id).await?;
            let archived_at = (change == TreeChange::WorkspaceArchived).then_some(write.now);
            if before.archived_at.is_some() == archived_at.is_some() {
                return Ok(before);
            }
            if archived_at.is_none() {
                check_free(write.tx, &before.name).await?;
            }
            let after = Workspace { archived_at, updated_at: write.now, ..before };
            write.tx.execute(UPDATE, values![archived_at, after.updated_at, &after.id]).await?;
            let name = after.name.clone();
            write
                .audit(match archived_at {
                    Some(_) => AuditEvent::WorkspaceArchived { name },
                    None => AuditEvent::WorkspaceRestored { name },
                })
                .await?;
            write.tree_changed(change, None, None)?;
            Ok(after)
        })
        .boxed()
    }

    pub fn workspace<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
    ) -> BoxFuture<'a, Result<Workspace, StoreError>> {
        let workspace_id = workspace_id.clone();
        self.read(async move |tx: &mut Tx<'_>| find(tx, &workspace_id).await).boxed()
    }

    /// Returns all workspaces, oldest first, including archived ones.
    pub fn workspaces(&self) -> BoxFuture<'_, Result<Vec<Workspace>, StoreError>> {
        const ALL: &str = concat!("SELECT ", workspace_columns!(), " FROM workspace w ORDER BY w.id");
        self.read(async |tx: &mut Tx<'_>| tx.all(ALL, &[], |mut row| read_workspace(&mut row)).await).boxed()
    }
}

async fn find(tx: &mut Tx<'_>, workspace_id: &WorkspaceId) -> Result<Workspace, StoreError> {
    let select = concat!("SELECT ", workspace_columns!(), " FROM workspace w WHERE w.id = $1");
    let found = tx.one_by_key(select, values![workspace_id], |mut row| read_workspace(&mut row)).await?;
    found.ok_or_else(|| StoreError::not_found(ErrorSubject::Workspace, workspace_id))
}

/// Rejects a name that an active workspace has.
// Two callers that check at the same time both pass; the unique index then fails one of them, which is retried and gets
// this error.
async fn check_free(tx: &mut Tx<'_>, name: &str) -> Result<(), StoreError> {
    const TAKEN: &str = "SELECT id FROM workspace WHERE name = $1 AND archived_at IS NULL";
    let other: Option<WorkspaceId> = tx.one_by_key(TAKEN, values![name], |mut row| row.next()).await?;
    other.map_or(Ok(()), |_| Err(taken(name.to_owned())))
}

fn taken(name: String) -> StoreError {
    StoreError::AlreadyExists { what: ErrorSubject::Workspace, name }
}

fn agents_column(agents: Option<&AgentsConfig>) -> Result<Option<String>, StoreError> {
    if agents.into_iter().flat_map(AgentsConfig::texts).any(|text| text.contains('\0')) {
        return Err(StoreError::invalid("agents", "must not contain a zero byte"));
    }
    agents.map(to_json).transpose()
}
