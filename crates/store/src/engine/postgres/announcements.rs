//! Announces changes to other gateways.
//!
//! A change that is lost between its commit and its announcement, because a gateway ends there, is found by the other
//! gateways' timers within seconds.

// The announcement is not part of the writing transaction: NOTIFY holds a lock of the whole server until the commit is
// on disk, so all commits would wait for each other.

use std::collections::BTreeSet;

use std::time::Duration;

use parking_lot::Mutex;
use protocol::{InstanceId, WorkspaceId};
use tokio::sync::Notify;

use super::pool::Pool;
use super::{WORK_TIME, in_time, leave};
use crate::StoreError;
use crate::engine::postgres::listener::CHANGE;

const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Workspaces whose changes have not been announced yet.
pub(super) struct Announcements {
    /// Identifies this store, which ignores its own announcements.
    origin: InstanceId,
    waiting: Mutex<BTreeSet<WorkspaceId>>,
    added: Notify,
}

impl Announcements {
    pub(super) fn new() -> Self {
        Self { origin: InstanceId::new(), waiting: Mutex::default(), added: Notify::new() }
    }

    pub(super) fn origin(&self) -> String {
        self.origin.to_string()
    }

    pub(super) fn add(&self, workspace_id: WorkspaceId) {
        self.waiting.lock().insert(workspace_id);
        self.added.notify_one();
    }

    /// Announces all pending workspaces in one statement.
    pub(super) async fn send(&self, pool: &Pool) -> Result<(), StoreError> {
        const SEND: &str =
            "SELECT pg_notify($1, value) FROM json_array_elements_text(CAST($2 AS json)) AS value";
        // Taken before sending: a change that is committed meanwhile must be announced again, because receivers may
        // have read the log before it.
        let waiting = std::mem::take(&mut *self.waiting.lock());
        if waiting.is_empty() {
            return Ok(());
        }
        let words: Vec<String> =
            waiting.iter().map(|workspace_id| format!("{} {workspace_id}", self.origin)).collect();
        let sent = async {
            let words = crate::column::to_json(&words)?;
            let mut connection = pool.acquire().await?;
            let send =
                async { Ok(sqlx::query(SEND).bind(CHANGE).bind(words).execute(&mut *connection).await?) };
            let done = in_time(WORK_TIME, send).await;
            leave(connection, done).map(drop)
        };
        let sent = sent.await;
        // Put back, merged with the workspaces that were added meanwhile.
        if sent.is_err() {
            self.waiting.lock().extend(waiting);
        }
        sent
    }
}

/// Announces changes for the lifetime of the store.
// Changes that arrive during an announcement are part of the next one.
pub(super) async fn announce(pool: Pool, announcements: std::sync::Arc<Announcements>) {
    loop {
        announcements.added.notified().await;
        while let Err(error) = announcements.send(&pool).await {
            tracing::warn!(%error, "failed to announce a change to other gateways; retrying");
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}
