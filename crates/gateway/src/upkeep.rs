//! What a gateway does by itself, beside its connections.

use std::sync::Arc;
use std::time::Duration;

use protocol::GATEWAY_ACTOR;
use store::{StoreError, Wake};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use crate::service::Shared;

/// How often turns of gateways that are gone, and tokens that are no longer valid, are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often what was counted for the audit is written down.
const FLUSH_EVERY: Duration = Duration::from_secs(5);
/// How often what is old enough is forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);

/// Starts it, each thing in a task of its own: none waits for another that hangs.
pub(crate) fn start(shared: &Arc<Shared>) -> Vec<JoinHandle<()>> {
    let tokens_changed = Arc::new(Notify::new());
    vec![
        tokio::spawn(listen_for_changes(Arc::clone(shared), Arc::clone(&tokens_changed))),
        tokio::spawn(look_after_tokens(Arc::clone(shared), tokens_changed)),
        tokio::spawn(apply_retention(Arc::clone(shared))),
        tokio::spawn(look_after_turns(Arc::clone(shared))),
        tokio::spawn(do_jobs(Arc::clone(shared))),
        tokio::spawn(write_counts(Arc::clone(shared))),
    ]
}

/// Wakes feeds, and whoever looks after tokens, until the store is gone.
async fn listen_for_changes(shared: Arc<Shared>, tokens_changed: Arc<Notify>) {
    let mut wakes = shared.store.wakes();
    loop {
        let may_be_tokens = match wakes.recv().await {
            Ok(Wake::Workspace(workspace_id)) => {
                shared.feeds.wake(Some(&workspace_id));
                false
            }
            Ok(Wake::Logged(logged)) => {
                shared.feeds.logged(&logged);
                false
            }
            Ok(Wake::Tokens) => true,
            Ok(Wake::Everything) | Err(RecvError::Lagged(_)) => {
                shared.feeds.wake(None);
                true
            }
            Err(RecvError::Closed) => return,
        };
        if may_be_tokens {
            shared.access.forget();
            tokens_changed.notify_one();
        }
    }
}

/// Ends what a token no longer allows: when one may have changed, and every few seconds, as a wake may be lost and a
/// database may not have answered.
async fn look_after_tokens(shared: Arc<Shared>, tokens_changed: Arc<Notify>) {
    loop {
        if let Err(error) = close_connections_of_invalid_tokens(&shared).await {
            tracing::warn!(%error, "connections of invalid tokens could not be looked for");
        }
        cancel_turns_of_invalid_tokens(&shared).await;
        let _ = tokio::time::timeout(SWEEP_EVERY, tokens_changed.notified()).await;
    }
}

async fn close_connections_of_invalid_tokens(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let now = shared.store.now();
    // Without the database, which need not answer.
    shared.connections.close_expired(now);
    let tokens = shared.connections.tokens();
    if !tokens.is_empty() {
        shared.connections.close_with(&shared.store.invalid_tokens(tokens, now).await?);
    }
    Ok(())
}

/// Cancels turns whose token was revoked, or whose token's time is over, wherever they run.
async fn cancel_turns_of_invalid_tokens(shared: &Arc<Shared>) {
    match shared.store.turns_of_invalid_tokens(shared.store.now()).await {
        Ok(turns) => {
            for (workspace_id, turn_id) in turns {
                let agent = Arc::clone(&shared.agent);
                // On its own: it waits for the end of a turn, and nobody waits for that here.
                tokio::spawn(async move {
                    tracing::info!(turn = %turn_id, "cancelling a turn whose token is no longer valid");
                    if let Err(error) = agent.cancel_turn(&workspace_id, &turn_id, Some(GATEWAY_ACTOR)).await
                    {
                        tracing::warn!(%error, turn = %turn_id, "a turn could not be cancelled");
                    }
                });
            }
        }
        Err(error) => tracing::warn!(%error, "turns of invalid tokens could not be looked for"),
    }
}

/// Fails the turns whose gateway is gone: this one's, if it was killed, and those of others.
async fn look_after_turns(shared: Arc<Shared>) {
    loop {
        match shared.agent.fail_dead_turns().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "failed turns whose gateway is gone"),
            Err(error) => tracing::warn!(%error, "turns of gateways that are gone could not be failed"),
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

/// Does what hooks asked to be done after turns, and what is left of forgetting: when one of this gateway has asked, and every few seconds, because
/// another gateway may have died over it.
async fn do_jobs(shared: Arc<Shared>) {
    loop {
        match shared.store.resume_purges().await {
            Ok(0) => {}
            Ok(count) => {
                tracing::info!(count, "finished forgetting what another gateway had begun to forget")
            }
            Err(error) => tracing::warn!(%error, "what is being forgotten could not be looked for"),
        }
        match shared.agent.run_due_jobs().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "did background jobs"),
            Err(error) => tracing::warn!(%error, "background jobs could not be looked for"),
        }
        shared.agent.job_added(SWEEP_EVERY).await;
    }
}

/// Forgets what was kept long enough.
async fn apply_retention(shared: Arc<Shared>) {
    loop {
        match shared.agent.prune().await {
            Ok(pruned) if pruned == agent::Pruned::default() => {}
            Ok(pruned) => tracing::info!(?pruned, "forgot what was kept long enough"),
            Err(error) => tracing::warn!(%error, "what was kept long enough could not be forgotten"),
        }
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

/// Writes down what was counted for the audit.
async fn write_counts(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(FLUSH_EVERY).await;
        if let Err(error) = shared.access.flush_counts().await {
            tracing::warn!(%error, "what was counted for the audit could not be written, and is tried again");
        }
    }
}
