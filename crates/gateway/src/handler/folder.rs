//! `thread/folder/…`.

use protocol::Warning;
use protocol::method::{
    FolderCreateParams, FolderDeleteResult, FolderDeletedParams, FolderDeletedResult, FolderGetParams,
    FolderMoveParams, FolderRenameParams, FolderRestoreResult, FolderResult,
};
use rpc::Error;
use store::RestoredFolder;

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

pub(crate) async fn deleted(
    context: Context,
    params: FolderDeletedParams,
) -> Result<FolderDeletedResult, Error> {
    let folders = context.shared.store.deleted_folders(&params.workspace_id).await.map_err(from_store)?;
    Ok(FolderDeletedResult { folders })
}

pub(crate) async fn restore(context: Context, params: FolderGetParams) -> Result<FolderRestoreResult, Error> {
    let store = &context.shared.store;
    let restored = store
        .restore_folder(&params.workspace_id, &params.folder_id, context.actor())
        .await
        .map_err(from_store)?;
    let warnings = warnings(&restored);
    Ok(FolderRestoreResult { folder: restored.folder, doc: restored.document, warnings })
}

/// What is not as it was before the folder was deleted.
fn warnings(restored: &RestoredFolder) -> Vec<Warning> {
    let warning = |code: &str, message: String| Warning { code: code.to_owned(), message };
    let mut warnings = vec![warning(
        "contents_moved",
        "folders and threads that were in it when it was deleted were moved to its parent and stay there"
            .to_owned(),
    )];
    if restored.parent_deleted {
        let place = match &restored.folder.parent_folder_id {
            Some(parent) => format!("folder `{parent}`"),
            None => "the workspace root".to_owned(),
        };
        let message = format!("the folder it was in is deleted, so it is now in {place}");
        warnings.push(warning("parent_deleted", message));
    }
    if restored.name_repeats {
        let message = format!(
            "another folder there is also called `{}`; rename one, or name them by their ids",
            restored.folder.name
        );
        warnings.push(warning("name_repeats", message));
    }
    warnings
}
