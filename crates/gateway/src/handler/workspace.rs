//! `workspace/…`.

use protocol::method::{
    WorkspaceCreateParams, WorkspaceGetParams, WorkspaceListParams, WorkspaceListResult, WorkspaceResult,
    WorkspaceUpdateParams,
};
use rpc::Error;

use crate::error::{from_store, other_workspace};
use crate::router::Context;

pub(crate) async fn create(
    context: Context,
    params: WorkspaceCreateParams,
) -> Result<WorkspaceResult, Error> {
    if context.peer.actor.workspace_id.is_some() {
        return Err(other_workspace(None));
    }
    let store = &context.shared.store;
    let workspace = store.create_workspace(params, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn update(
    context: Context,
    params: WorkspaceUpdateParams,
) -> Result<WorkspaceResult, Error> {
    let store = &context.shared.store;
    let workspace = store.update_workspace(params, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn get(context: Context, params: WorkspaceGetParams) -> Result<WorkspaceResult, Error> {
    let workspace = context.shared.store.workspace(&params.workspace_id).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn list(context: Context, _: WorkspaceListParams) -> Result<WorkspaceListResult, Error> {
    let mut workspaces = context.shared.store.workspaces().await.map_err(from_store)?;
    workspaces.retain(|workspace| context.peer.actor.reaches(&workspace.id));
    Ok(WorkspaceListResult { workspaces })
}
