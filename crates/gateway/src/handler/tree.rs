//! `thread/tree` and `thread/list`.

use protocol::error::ErrorObject;
use protocol::limits::MAX_THREAD_LIST_LIMIT;
use protocol::method::{ThreadListParams, ThreadListResult, ThreadTreeParams};
use rpc::Reply;

use crate::error::{checked_limit, from_store};
use crate::router::Context;

pub(crate) async fn tree(context: Context, params: ThreadTreeParams) -> Result<Reply, ErrorObject> {
    let store = &context.shared.store;
    // A whole tree can be tens of megabytes, so its JSON is passed through as stored instead of being parsed into types
    // and serialized again.
    if params.is_whole() {
        store.tree_json(&params.workspace_id).await.map(Reply::from_json).map_err(from_store)
    } else {
        store.tree_part(params).await.map(Reply::new).map_err(from_store)
    }
}

pub(crate) async fn list(
    context: Context,
    params: ThreadListParams,
) -> Result<ThreadListResult, ErrorObject> {
    checked_limit(params.limit, MAX_THREAD_LIST_LIMIT)?;
    context.shared.store.threads_in(params).await.map_err(from_store)
}
