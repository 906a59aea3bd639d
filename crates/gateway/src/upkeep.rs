//! Background tasks of a gateway, among them the one that passes wakes of the store to the feeds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::GATEWAY_ACTOR;
use store::{StoreError, Wake};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use crate::service::Shared;

/// Interval for checking dead turns and invalid tokens.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Interval for writing audit counts.
const FLUSH_EVERY: Duration = Duration::from_secs(5);
/// Interval for pruning expired records.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Starts every task separately, so that one that hangs does not delay the others.
pub(crate) fn start(shared: &Arc<Shared>) -> Vec<JoinHandle<()>> {
    let tokens_changed = Arc::new(Notify::new());
    vec![
        tokio::spawn(listen_for_changes(Arc::clone(shared), Arc::clone(&tokens_changed))),
        tokio::spawn(sweep_invalid_tokens(Arc::clone(shared), tokens_changed)),
        tokio::spawn(prune_expired_records(Arc::clone(shared))),
        tokio::spawn(sweep_dead_turns(Arc::clone(shared))),
        tokio::spawn(run_background_jobs(Arc::clone(shared))),
        tokio::spawn(flush_audit_counts(Arc::clone(shared))),
    ]
}

/// Wakes feeds and the token sweep until the store is closed.
async fn listen_for_changes(shared: Arc<Shared>, tokens_changed: Arc<Notify>) {
    let mut wakes = shared.store.wakes();
    let mut instance = shared.instance();
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
            // Lost wakes may have been about anything, so everything is treated as changed.
            Ok(Wake::Everything) | Err(RecvError::Lagged(_)) => {
                shared.feeds.wake(None);
                true
            }
            Err(RecvError::Closed) => return,
        };
        let current = shared.instance();
        if current != instance {
            // The feeds remember changes that may never have happened in this history. Clients that reconnect learn of the
            // new instance before they subscribe.
            tracing::warn!(before = %instance, now = %current, "closing connections: the database has another history");
            shared.feeds.reset();
            shared.connections.close_all();
            instance = current;
        }
        if may_be_tokens {
            // An empty cache stops the next call of a revoked token. The sweep is for connections that make no calls
            // and only listen.
            shared.access.invalidate();
            tokens_changed.notify_one();
        }
    }
}

/// Ends connections and turns of invalid tokens. Runs when a token may have changed, and every few seconds because
/// wakes can be lost and the database may have been unavailable.
async fn sweep_invalid_tokens(shared: Arc<Shared>, tokens_changed: Arc<Notify>) {
    loop {
        if let Err(error) = close_connections_of_invalid_tokens(&shared).await {
            tracing::warn!(%error, "failed to find connections of invalid tokens");
        }
        cancel_turns_of_invalid_tokens(&shared).await;
        let _ = tokio::time::timeout(SWEEP_EVERY, tokens_changed.notified()).await;
    }
}

async fn close_connections_of_invalid_tokens(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let now = shared.store.now();
    // Expiry is known locally, so these connections close even while the database is unavailable.
    shared.connections.close_expired(now);
    shared.connections.close_expired_sessions(&shared.console.sessions, Instant::now());
    shared.mcp.end_expired(now);
    let mut tokens = shared.connections.tokens();
    tokens.extend(shared.mcp.tokens());
    if !tokens.is_empty() {
        let invalid = shared.store.invalid_tokens(tokens, now).await?;
        shared.connections.close_with(&invalid);
        shared.mcp.end_with(&invalid);
    }
    Ok(())
}

/// Cancels turns whose token was revoked or has expired, on whichever gateway they run.
async fn cancel_turns_of_invalid_tokens(shared: &Arc<Shared>) {
    match shared.store.turns_of_invalid_tokens(shared.store.now()).await {
        Ok(turns) => {
            for (workspace_id, turn_id) in turns {
                let agent = Arc::clone(&shared.agent);
                // Spawned, because cancelling waits for the turn to end and must not delay the sweep.
                tokio::spawn(async move {
                    tracing::info!(turn = %turn_id, "cancelling turn: its token is no longer valid");
                    if let Err(error) = agent.cancel_turn(&workspace_id, &turn_id, Some(GATEWAY_ACTOR)).await
                    {
                        tracing::warn!(%error, turn = %turn_id, "failed to cancel turn");
                    }
                });
            }
        }
        Err(error) => tracing::warn!(%error, "failed to find turns of invalid tokens"),
    }
}

/// Fails turns of dead gateways, including turns of this gateway's previous process.
async fn sweep_dead_turns(shared: Arc<Shared>) {
    loop {
        match shared.agent.fail_dead_turns().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "marked turns of dead gateways as failed"),
            Err(error) => tracing::warn!(%error, "could not mark turns of dead gateways as failed"),
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

/// Runs background jobs and unfinished purges: when this gateway adds a job, and every few seconds because another
/// gateway may have died while running one.
async fn run_background_jobs(shared: Arc<Shared>) {
    loop {
        match shared.store.resume_purges().await {
            Ok(0) => {}
            Ok(count) => {
                tracing::info!(count, "finished purges that another gateway had started")
            }
            Err(error) => tracing::warn!(%error, "failed to query pending purges"),
        }
        match shared.agent.run_due_jobs().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "ran background jobs"),
            Err(error) => tracing::warn!(%error, "failed to query background jobs"),
        }
        shared.agent.job_added(SWEEP_EVERY).await;
    }
}

async fn prune_expired_records(shared: Arc<Shared>) {
    loop {
        match shared.agent.prune().await {
            Ok(pruned) if pruned == agent::Pruned::default() => {}
            Ok(pruned) => tracing::info!(?pruned, "pruned expired records"),
            Err(error) => tracing::warn!(%error, "failed to prune expired records"),
        }
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}

async fn flush_audit_counts(shared: Arc<Shared>) {
    loop {
        // Sleeps first: nothing is counted yet at the start, and the shutdown writes the last counts.
        tokio::time::sleep(FLUSH_EVERY).await;
        if let Err(error) = shared.access.flush_counts().await {
            tracing::warn!(%error, "failed to write audit counts; retrying");
        }
    }
}
