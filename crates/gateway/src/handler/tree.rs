//! `thread/tree` and `thread/list`.

use protocol::limits::MAX_THREAD_LIST_LIMIT;
use protocol::method::{ThreadListParams, ThreadListResult, ThreadTreeParams};
use rpc::{Error, Reply};

use crate::error::from_store;
use crate::router::Context;

pub(crate) async fn tree(context: Context, params: ThreadTreeParams) -> Result<Reply, Error> {
    let store = &context.shared.store;
    // A whole tree may have tens of megabytes; a part is small.
    if params.is_whole() {
        store.tree_json(&params.workspace_id).await.map(Reply::from_json).map_err(from_store)
    } else {
        store.tree_part(params).await.map(Reply::new).map_err(from_store)
    }
}

pub(crate) async fn list(context: Context, params: ThreadListParams) -> Result<ThreadListResult, Error> {
    if !(1..=MAX_THREAD_LIST_LIMIT).contains(&params.limit) {
        let message = format!("`limit` must be between 1 and {MAX_THREAD_LIST_LIMIT}, not {}", params.limit);
        return Err(Error::invalid_params(message));
    }
    context.shared.store.threads_in(params).await.map_err(from_store)
}
