//! `thread/…`.

use protocol::error::ErrorObject;
use protocol::method::{
    ThreadCreateParams, ThreadGetParams, ThreadMoveParams, ThreadRenameParams, ThreadResult,
};

use crate::error::from_store;
use crate::router::Context;

pub(crate) async fn create(
    context: Context,
    params: ThreadCreateParams,
) -> Result<ThreadResult, ErrorObject> {
    let store = &context.shared.store;
    let thread = store.create_thread(params, context.actor()).await.map_err(from_store)?;
    Ok(ThreadResult { thread })
}

pub(crate) async fn get(context: Context, params: ThreadGetParams) -> Result<ThreadResult, ErrorObject> {
    let store = &context.shared.store;
    let thread = store.thread(&params.workspace_id, &params.thread_id).await.map_err(from_store)?;
    Ok(ThreadResult { thread })
}

pub(crate) async fn rename(
    context: Context,
    params: ThreadRenameParams,
) -> Result<ThreadResult, ErrorObject> {
    let store = &context.shared.store;
    let thread = store
        .rename_thread(&params.workspace_id, &params.thread_id, &params.title, context.actor())
        .await
        .map_err(from_store)?;
    Ok(ThreadResult { thread })
}

pub(crate) async fn move_to(context: Context, params: ThreadMoveParams) -> Result<ThreadResult, ErrorObject> {
    let store = &context.shared.store;
    let thread = store
        .move_thread(&params.workspace_id, &params.thread_id, params.folder_id.as_ref(), context.actor())
        .await
        .map_err(from_store)?;
    Ok(ThreadResult { thread })
}

pub(crate) async fn archive(context: Context, params: ThreadGetParams) -> Result<ThreadResult, ErrorObject> {
    let store = &context.shared.store;
    let thread = store
        .archive_thread(&params.workspace_id, &params.thread_id, context.actor())
        .await
        .map_err(from_store)?;
    Ok(ThreadResult { thread })
}
