//! `events/…`.

use std::sync::Arc;

use protocol::error::{ErrorKind, ErrorObject};
use protocol::method::{EventsResult, EventsSubscribeParams, EventsUnsubscribeParams};
use rpc::Reply;

use crate::error::{from_store, invalid_state};
use crate::router::Context;

pub(crate) async fn subscribe(context: Context, params: EventsSubscribeParams) -> Result<Reply, ErrorObject> {
    let Some(outgoing) = context.peer.outgoing().cloned() else {
        return Err(no_connection());
    };
    let workspace_id = params.workspace_id;
    let store = &context.shared.store;
    // Read before the subscription starts, so a change in between arrives as a notification. A rejected `since` also
    // leaves an existing subscription untouched.
    let seq = match params.since {
        Some(since) => store.check_since(&workspace_id, since).await,
        None => store.sequence(&workspace_id).await,
    };
    let seq = seq.map_err(from_store)?;
    // Compared after the read, whose connection shows whether the database has another history by now.
    if params.instance.is_some_and(|instance| instance != context.shared.instance()) {
        let message = "`since` is a number of another database, or of its history before a failover; reload";
        return Err(ErrorObject::new(ErrorKind::LogPruned, message));
    }
    let since = params.since.unwrap_or(seq);
    let subscription = context.peer.subscribe(workspace_id.clone(), outgoing).await;
    let shared = Arc::clone(&context.shared);
    Ok(Reply::new(EventsResult { seq }).then(move || {
        tokio::spawn(async move { shared.feeds.follow(workspace_id, since, &subscription).await });
    }))
}

pub(crate) async fn unsubscribe(
    context: Context,
    params: EventsUnsubscribeParams,
) -> Result<EventsResult, ErrorObject> {
    if context.peer.outgoing().is_none() {
        return Err(no_connection());
    }
    // Read before the subscription ends, so that an unknown workspace is an error without any effect.
    let seq = context.shared.store.sequence(&params.workspace_id).await.map_err(from_store)?;
    context.peer.unsubscribe(&params.workspace_id).await;
    Ok(EventsResult { seq })
}

fn no_connection() -> ErrorObject {
    invalid_state("events need a connection that stays; use WebSocket or stdio instead of HTTP POST")
}
