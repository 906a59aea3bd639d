//! Workspaces.

use protocol::notification::TreeChange;
use protocol::{AgentsConfig, Sequence, Workspace, WorkspaceId};
use sea_orm::{ActiveModelTrait, ActiveValue::Set, EntityTrait, IntoActiveModel, QueryOrder};

use crate::entity::workspace;
use crate::only::Only as _;
use crate::{Store, StoreError, name};

/// What a new workspace has.
#[derive(Debug, Clone, Default)]
pub struct NewWorkspace {
    /// What people call it.
    pub name: String,
    /// The directory its threads work in.
    pub root_path: Option<String>,
    /// How files on disk are found in it.
    pub agents: Option<AgentsConfig>,
}

/// What changes about a workspace; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceChanges {
    /// What people call it.
    pub name: Option<String>,
    /// The directory its threads work in.
    pub root_path: Option<String>,
    /// How files on disk are found in it.
    pub agents: Option<AgentsConfig>,
}

impl Store {
    /// Makes a workspace.
    pub async fn create_workspace(
        &self,
        new: NewWorkspace,
        actor: Option<&str>,
    ) -> Result<Workspace, StoreError> {
        name::check("name", &new.name)?;
        new.root_path.as_deref().map_or(Ok(()), name::check_root_path)?;
        let id = WorkspaceId::new();
        let transaction = self.begin_write().await?;
        let first = Sequence(1);
        let mut write = self.writing(transaction, id.clone(), actor, first);
        let row = workspace::Model {
            id: id.to_string(),
            name: new.name,
            root_path: new.root_path,
            agents: to_json(new.agents.as_ref())?,
            seq: first.to_column(),
            created_at: write.now.milliseconds(),
            updated_at: write.now.milliseconds(),
        };
        workspace::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&write.transaction)
            .await?;
        write.tree_changed(TreeChange::WorkspaceCreated, None, None)?;
        write.commit().await?;
        row.try_into()
    }

    /// Changes a workspace's own fields.
    pub async fn update_workspace(
        &self,
        workspace_id: &WorkspaceId,
        changes: WorkspaceChanges,
        actor: Option<&str>,
    ) -> Result<Workspace, StoreError> {
        changes.name.as_deref().map_or(Ok(()), |name| name::check("name", name))?;
        changes.root_path.as_deref().map_or(Ok(()), name::check_root_path)?;
        let mut write = self.write(workspace_id, actor).await?;
        let before = find(&write.transaction, workspace_id).await?;
        let mut after = before.clone();
        if let Some(name) = changes.name {
            after.name = name;
        }
        if changes.root_path.is_some() {
            after.root_path = changes.root_path;
        }
        if changes.agents.is_some() {
            after.agents = to_json(changes.agents.as_ref())?;
        }
        if after == before {
            return before.try_into();
        }
        after.updated_at = write.now.milliseconds();
        let update = workspace::ActiveModel {
            id: Set(after.id.clone()),
            name: Set(after.name.clone()),
            root_path: Set(after.root_path.clone()),
            agents: Set(after.agents.clone()),
            updated_at: Set(after.updated_at),
            ..Default::default()
        };
        update.update(&write.transaction).await?;
        write.tree_changed(TreeChange::WorkspaceUpdated, None, None)?;
        write.commit().await?;
        after.try_into()
    }

    /// One workspace.
    pub async fn workspace(&self, workspace_id: &WorkspaceId) -> Result<Workspace, StoreError> {
        find(self.readers(), workspace_id).await?.try_into()
    }

    /// All workspaces, oldest first.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        let rows = workspace::Entity::find().order_by_asc(workspace::Column::Id).all(self.readers()).await?;
        rows.into_iter().map(Workspace::try_from).collect()
    }
}

async fn find(
    connection: &impl sea_orm::ConnectionTrait,
    workspace_id: &WorkspaceId,
) -> Result<workspace::Model, StoreError> {
    workspace::Entity::find_by_id(workspace_id.as_str())
        .only(connection)
        .await?
        .ok_or_else(|| StoreError::not_found("workspace", workspace_id))
}

fn to_json(agents: Option<&AgentsConfig>) -> Result<Option<String>, StoreError> {
    let root = agents.and_then(|agents| agents.root.as_ref());
    let mut texts = root
        .into_iter()
        .flat_map(|root| root.project_root_override.iter().chain(root.markers.iter().flatten()));
    if texts.any(|text| text.contains('\0')) {
        return Err(StoreError::invalid("agents", "must not contain a zero byte"));
    }
    agents.map(serde_json::to_string).transpose().map_err(|error| StoreError::Database(error.to_string()))
}
