//! `workspace/…`.

use protocol::error::ErrorKind;
use protocol::error::ErrorObject;
use protocol::method::{
    WorkspaceCreateParams, WorkspaceGetParams, WorkspaceListParams, WorkspaceListResult, WorkspaceResult,
    WorkspaceUpdateParams,
};

use crate::error::{from_store, other_workspace};
use crate::root_path;
use crate::router::Context;

pub(crate) async fn create(
    context: Context,
    params: WorkspaceCreateParams,
) -> Result<WorkspaceResult, ErrorObject> {
    if context.peer.actor.workspace_id.is_some() {
        return Err(other_workspace(None));
    }
    check_root(&context, params.root_path.as_deref()).await?;
    let store = &context.shared.store;
    let workspace = store.create_workspace(params, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn update(
    context: Context,
    params: WorkspaceUpdateParams,
) -> Result<WorkspaceResult, ErrorObject> {
    // With another root, the turns of a bound token could read directories that it was never given.
    let moves = params.root_path.is_some() || params.agents.is_some();
    if moves && context.peer.actor.workspace_id.is_some() {
        let message =
            "only a token for all workspaces may set `root_path` and `agents`, and this one is bound to one";
        return Err(ErrorObject::new(ErrorKind::Forbidden, message));
    }
    check_root(&context, params.root_path.as_deref()).await?;
    let store = &context.shared.store;
    let workspace = store.update_workspace(params, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

/// Validates a root on a blocking thread, because it accesses the disk.
async fn check_root(context: &Context, root_path: Option<&str>) -> Result<(), ErrorObject> {
    let Some(root_path) = root_path.map(str::to_owned) else { return Ok(()) };
    let private = context.shared.settings.agent.private_paths.clone();
    agent::blocking(move || root_path::check(&root_path, &private)).await
}

pub(crate) async fn get(
    context: Context,
    params: WorkspaceGetParams,
) -> Result<WorkspaceResult, ErrorObject> {
    let workspace = context.shared.store.workspace(&params.workspace_id).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn archive(
    context: Context,
    params: WorkspaceGetParams,
) -> Result<WorkspaceResult, ErrorObject> {
    check_unbound(&context)?;
    let store = &context.shared.store;
    let id = &params.workspace_id;
    let workspace = store.archive_workspace(id, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

pub(crate) async fn restore(
    context: Context,
    params: WorkspaceGetParams,
) -> Result<WorkspaceResult, ErrorObject> {
    check_unbound(&context)?;
    let store = &context.shared.store;
    let id = &params.workspace_id;
    let workspace = store.restore_workspace(id, context.actor()).await.map_err(from_store)?;
    Ok(WorkspaceResult { workspace })
}

fn check_unbound(context: &Context) -> Result<(), ErrorObject> {
    if context.peer.actor.workspace_id.is_none() {
        return Ok(());
    }
    let message =
        "only a token for all workspaces may archive and restore them, and this one is bound to one";
    Err(ErrorObject::new(ErrorKind::Forbidden, message))
}

pub(crate) async fn list(
    context: Context,
    params: WorkspaceListParams,
) -> Result<WorkspaceListResult, ErrorObject> {
    let mut workspaces = context.shared.store.workspaces().await.map_err(from_store)?;
    let caller = &context.peer.actor;
    workspaces.retain(|workspace| {
        workspace.archived_at.is_some() == params.archived && caller.reaches(&workspace.id)
    });
    let running =
        context.shared.store.running_turns(caller.workspace_id.as_ref()).await.map_err(from_store)?;
    Ok(WorkspaceListResult { workspaces, running_turns: (running > 0).then_some(running) })
}
