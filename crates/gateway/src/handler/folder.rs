//! `thread/folder/…`.

use protocol::method::{
    FolderCreateParams, FolderDeleteResult, FolderGetParams, FolderMoveParams, FolderRenameParams,
    FolderResult,
};
use rpc::Error;

use crate::error::from_store;
use crate::router::Context;

pub(crate) async fn create(context: Context, params: FolderCreateParams) -> Result<FolderResult, Error> {
    let store = &context.shared.store;
    let folder = store
        .create_folder(&params.workspace_id, params.parent_folder_id.as_ref(), &params.name, context.actor())
        .await
        .map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn get(context: Context, params: FolderGetParams) -> Result<FolderResult, Error> {
    let store = &context.shared.store;
    let folder = store.folder(&params.workspace_id, &params.folder_id).await.map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn rename(context: Context, params: FolderRenameParams) -> Result<FolderResult, Error> {
    let store = &context.shared.store;
    let folder = store
        .rename_folder(&params.workspace_id, &params.folder_id, &params.name, context.actor())
        .await
        .map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn move_to(context: Context, params: FolderMoveParams) -> Result<FolderResult, Error> {
    let store = &context.shared.store;
    let folder = store
        .move_folder(
            &params.workspace_id,
            &params.folder_id,
            params.parent_folder_id.as_ref(),
            context.actor(),
        )
        .await
        .map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn delete(context: Context, params: FolderGetParams) -> Result<FolderDeleteResult, Error> {
    let store = &context.shared.store;
    store
        .delete_folder(&params.workspace_id, &params.folder_id, context.actor())
        .await
        .map_err(from_store)?;
    Ok(FolderDeleteResult { deleted: true })
}
