//! Hears from PostgreSQL that another gateway has written something.
//!
//! A notification only wakes; what happened is read from the change log. So a lost connection costs time, not
//! changes: after every reconnect everybody is told to look.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Executor as _, PgPool};
use tokio::sync::broadcast;

use crate::change_log::Wake;
use crate::engine::postgres::SESSION;

/// How often a connection that says nothing is asked whether it is still there, and how long that may take.
const ASK_EVERY: Duration = Duration::from_secs(30);
const ANSWER_TIME: Duration = Duration::from_secs(10);
const RETRY_AFTER: Duration = Duration::from_millis(500);
pub(crate) const CHANGE: &str = "foreword_change";
const TOKEN: &str = "foreword_token";

/// Turns notifications into wakes for as long as the store lives.
pub(crate) async fn listen(options: PgConnectOptions, own: String, wakes: broadcast::Sender<Wake>) {
    // A connection of its own, which the driver takes only from a pool of its own.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(SESSION).await.map(drop) }))
        .connect_lazy_with(options);
    loop {
        if let Err(error) = listen_once(&pool, &own, &wakes).await {
            tracing::warn!(%error, "lost the notifications of the database; trying again");
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
            // Nothing happens, or nothing is left of the connection but this end.
            Err(_) => {
                let asked = tokio::time::timeout(ANSWER_TIME, listener.execute("SELECT 1")).await;
                asked.map_err(|_| sqlx::Error::PoolTimedOut)??;
                continue;
            }
        };
        // `None` says that the connection was lost, so notifications may have been too.
        let Some(notification) = received else { return Ok(()) };
        let said = notification.payload();
        let (origin, workspace_id) = said.split_once(' ').unwrap_or(("", said));
        let wake = match notification.channel() {
            // Whoever wrote it was woken when it was committed.
            CHANGE if origin == own => continue,
            CHANGE => workspace_id.parse().map_or(Wake::Everything, Wake::Workspace),
            _ => Wake::Tokens,
        };
        let _ = wakes.send(wake);
    }
}
