//! Listens for announcements of other gateways.
//!
//! A notification only wakes; the changes are read from the log.

// So a lost connection costs time but no changes: after every reconnect all receivers are woken.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Executor as _, PgPool};
use tokio::sync::broadcast;

use crate::change_log::Wake;
use crate::engine::postgres::SESSION;

/// Interval between checks of an idle connection, and the time limit of a check.
// A peer that disappears without closing the connection sends nothing, which looks the same as having nothing to send.
const ASK_EVERY: Duration = Duration::from_secs(30);
const ANSWER_TIME: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_millis(500);
pub(crate) const CHANGE: &str = "foreword_change";
const TOKEN: &str = "foreword_token";

/// Turns notifications into wakes for the lifetime of the store.
pub(crate) async fn listen(options: PgConnectOptions, own: String, wakes: broadcast::Sender<Wake>) {
    // The driver's listener can only be made from a pool, and must not occupy a connection of ours.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(SESSION).await.map(drop) }))
        .connect_lazy_with(options);
    loop {
        if let Err(error) = listen_once(&pool, &own, &wakes).await {
            tracing::warn!(%error, "lost the connection for notifications; reconnecting");
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

async fn listen_once(pool: &PgPool, own: &str, wakes: &broadcast::Sender<Wake>) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all([CHANGE, TOKEN]).await?;
    let _ = wakes.send(Wake::Everything);
    loop {
        let received = match tokio::time::timeout(ASK_EVERY, listener.try_recv()).await {
            Ok(received) => received?,
            // Either nothing happens, or the server is gone and only this end of the connection is left.
            Err(_) => {
                let asked = tokio::time::timeout(ANSWER_TIME, listener.execute("SELECT 1")).await;
                asked.map_err(|_| sqlx::Error::PoolTimedOut)??;
                continue;
            }
        };
        // `None` means that the connection was lost, and notifications with it.
        let Some(notification) = received else { return Ok(()) };
        let said = notification.payload();
        let (origin, workspace_id) = said.split_once(' ').unwrap_or(("", said));
        let wake = match notification.channel() {
            // Our own writers were woken when they committed.
            CHANGE if origin == own => continue,
            CHANGE => workspace_id.parse().map_or(Wake::Everything, Wake::Workspace),
            _ => Wake::Tokens,
        };
        let _ = wakes.send(wake);
    }
}
