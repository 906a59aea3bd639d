//! `thread/folder/…`.

use protocol::Warning;
use protocol::error::ErrorObject;
use protocol::method::{
    FolderCreateParams, FolderDeleteResult, FolderDeletedParams, FolderDeletedResult, FolderGetParams,
    FolderMoveParams, FolderRenameParams, FolderRestoreResult, FolderResult,
};
use store::{Moved, RelocatedChildren, RestoredFolder};

use crate::error::{from_store, invalid_params};
use crate::router::Context;

pub(crate) async fn create(
    context: Context,
    params: FolderCreateParams,
) -> Result<FolderResult, ErrorObject> {
    check_name(&params.name)?;
    let store = &context.shared.store;
    let folder = store
        .create_folder(&params.workspace_id, params.parent_folder_id.as_ref(), &params.name, context.actor())
        .await
        .map_err(from_store)?;
    Ok(FolderResult { folder })
}

/// Refuses a name that would look like a path, by which folders are found.
fn check_name(name: &str) -> Result<(), ErrorObject> {
    if name.contains('/') {
        return Err(invalid_params(format!(
            "`{name}` has a `/`, which separates folders: create the outer folder first, then the inner one in it"
        )));
    }
    Ok(())
}

pub(crate) async fn get(context: Context, params: FolderGetParams) -> Result<FolderResult, ErrorObject> {
    let store = &context.shared.store;
    let folder = store.folder(&params.workspace_id, &params.folder_id).await.map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn rename(
    context: Context,
    params: FolderRenameParams,
) -> Result<FolderResult, ErrorObject> {
    check_name(&params.name)?;
    let store = &context.shared.store;
    let folder = store
        .rename_folder(&params.workspace_id, &params.folder_id, &params.name, context.actor())
        .await
        .map_err(from_store)?;
    Ok(FolderResult { folder })
}

pub(crate) async fn move_to(context: Context, params: FolderMoveParams) -> Result<FolderResult, ErrorObject> {
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

pub(crate) async fn delete(
    context: Context,
    params: FolderGetParams,
) -> Result<FolderDeleteResult, ErrorObject> {
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
) -> Result<FolderDeletedResult, ErrorObject> {
    let folders = context.shared.store.deleted_folders(&params.workspace_id).await.map_err(from_store)?;
    Ok(FolderDeletedResult { folders })
}

pub(crate) async fn restore(
    context: Context,
    params: FolderGetParams,
) -> Result<FolderRestoreResult, ErrorObject> {
    let store = &context.shared.store;
    let restored = store
        .restore_folder(&params.workspace_id, &params.folder_id, context.actor())
        .await
        .map_err(from_store)?;
    let warnings = warnings(&restored);
    Ok(FolderRestoreResult { folder: restored.folder, doc: restored.document, warnings })
}

/// Moved folders and threads that a warning lists by name, per kind.
const MAX_NAMED: usize = 10;

/// Returns warnings about what a restore could not bring back.
fn warnings(restored: &RestoredFolder) -> Vec<Warning> {
    let warning = |code: &str, message: String| Warning { code: code.to_owned(), message };
    let moved = match &restored.moved_out {
        Some(moved) => describe_moved(moved)
            .map(|moved| format!("what was in it when it was deleted stays where it is now: {moved}")),
        None => {
            Some("folders and threads that were in it when it was deleted stay where they are now".into())
        }
    };
    let mut warnings: Vec<Warning> =
        moved.into_iter().map(|message| warning("contents_moved", message)).collect();
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

/// Describes moved folders and threads by name; `None` if there are none.
fn describe_moved(moved: &RelocatedChildren) -> Option<String> {
    let kinds = [("folder", &moved.folders), ("thread", &moved.threads)];
    let described: Vec<String> = kinds.into_iter().filter_map(|(kind, it)| describe_kind(kind, it)).collect();
    (!described.is_empty()).then(|| described.join(" and "))
}

fn describe_kind(kind: &str, moved: &Moved) -> Option<String> {
    let plural = if moved.count == 1 { "" } else { "s" };
    let names: Vec<String> = moved.names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() as u64 == moved.count { "" } else { ", …" };
    let named = if names.is_empty() { String::new() } else { format!(" ({}{more})", names.join(", ")) };
    (moved.count > 0).then(|| format!("{} {kind}{plural}{named}", moved.count))
}
