//! The lease of a running turn: renewed while it runs, and checked before anything runs on its behalf.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use protocol::{Timestamp, TurnId, WorkspaceId};
use store::{Lease, StoreError};
use tokio::time::Instant;
use tools::{GateClosed, RunGate};

use crate::agent::Agent;

/// Time that a turn counts as alive after a renewal.
pub(crate) const LEASE: Duration = Duration::from_secs(15);
/// Interval between renewals.
pub(crate) const RENEWAL: Duration = Duration::from_secs(5);

/// A lease renewed within this time cannot have been taken over.
const FRESH: Duration = Duration::from_millis(LEASE.as_millis() as u64 / 2);

pub(crate) struct TurnLease {
    agent: Arc<Agent>,
    workspace_id: WorkspaceId,
    turn_id: TurnId,
    renewed: Mutex<Renewal>,
}

/// Time of the last renewal by two clocks: the monotonic one stops while a machine sleeps, the other can be set.
#[derive(Clone, Copy)]
struct Renewal {
    by_running_time: Instant,
    by_clock: Timestamp,
}

impl Renewal {
    fn now() -> Self {
        Self { by_running_time: Instant::now(), by_clock: Timestamp::now() }
    }

    fn is_fresh(self) -> bool {
        let milliseconds = Timestamp::now().milliseconds().abs_diff(self.by_clock.milliseconds());
        self.by_running_time.elapsed() < FRESH && Duration::from_millis(milliseconds) < FRESH
    }
}

impl TurnLease {
    /// Creates the lease of a turn that was just stored.
    pub(crate) fn new(agent: Arc<Agent>, workspace_id: WorkspaceId, turn_id: TurnId) -> Self {
        Self { agent, workspace_id, turn_id, renewed: Mutex::new(Renewal::now()) }
    }

    /// Renews the lease; fails if the turn is no longer ours.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        // Read the clocks first, because the store may be slow and the lease starts before it responds.
        let now = Renewal::now();
        self.agent.store.renew_lease(&self.workspace_id, &self.turn_id, &self.agent.lease()).await?;
        *self.renewed.lock() = now;
        Ok(())
    }
}

impl Agent {
    pub(crate) fn lease(&self) -> Lease {
        let milliseconds = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
        let expires_at = Timestamp::from_milliseconds(self.store.now().milliseconds() + milliseconds);
        Lease { owner: self.node.clone(), expires_at }
    }
}

/// A gateway that was frozen can wake up at any point. Before it runs anything, it checks that the turn has not been
/// ended by another gateway.
impl RunGate for TurnLease {
    fn check(&self) -> BoxFuture<'_, Result<(), GateClosed>> {
        Box::pin(async {
            let renewed = *self.renewed.lock();
            if renewed.is_fresh() {
                return Ok(());
            }
            self.renew().await.map_err(|error| GateClosed(error.into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use protocol::ThreadMode;
    use protocol::method::{ThreadCreateParams, TurnStartParams, WorkspaceCreateParams};
    use store::{Database, Store};

    use super::*;
    use crate::error::AgentError;
    use crate::settings::AgentSettings;
    use crate::turn::lifecycle::turn_error;

    /// Returns the lease of a turn that an agent has just created.
    async fn begun(directory: &tempfile::TempDir) -> TurnLease {
        let store = Store::open(&Database::Sqlite(directory.path().join("test.db"))).await.unwrap();
        let new = WorkspaceCreateParams { name: "w".to_owned(), root_path: None, agents: None };
        let workspace_id = store.create_workspace(new, None).await.unwrap().id;
        let new = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: ThreadMode::Agent,
        };
        let thread_id = store.create_thread(new, None).await.unwrap().id;
        let agent = Arc::new(Agent::new(store.clone(), AgentSettings::new(directory.path()), []).unwrap());
        let start = TurnStartParams::new(&workspace_id, &thread_id, "go".to_owned());
        let turn = store.create_turn(start, agent.lease(), None, None).await.unwrap();
        TurnLease::new(agent, workspace_id, turn.id)
    }

    /// Lets another gateway declare the turn dead.
    async fn end_elsewhere(lease: &TurnLease) {
        let later = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 60_000);
        let error = turn_error(&AgentError::GatewayGone);
        let failed = lease.agent.store.fail_expired_turns(later, 10, &[], &error).await.unwrap();
        assert_eq!(failed.len(), 1);
    }

    #[tokio::test]
    async fn a_stale_lease_of_an_ended_turn_is_rejected() {
        let is_old: [fn(&mut Renewal); 2] = [
            |renewed| renewed.by_running_time -= FRESH,
            // A machine that slept: only the wall clock advanced.
            |renewed| {
                let milliseconds = i64::try_from(FRESH.as_millis()).unwrap();
                let then = renewed.by_clock.milliseconds() - milliseconds;
                renewed.by_clock = Timestamp::from_milliseconds(then);
            },
        ];
        for make_old in is_old {
            let directory = tempfile::tempdir().unwrap();
            let lease = begun(&directory).await;
            end_elsewhere(&lease).await;
            make_old(&mut lease.renewed.lock());
            let refused = lease.check().await.unwrap_err();
            assert!(refused.to_string().starts_with("the turn may have ended meanwhile: "), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_stale_lease_of_a_running_turn_is_renewed() {
        let directory = tempfile::tempdir().unwrap();
        let lease = begun(&directory).await;
        lease.renewed.lock().by_running_time -= FRESH;
        lease.check().await.unwrap();
        assert!(lease.renewed.lock().is_fresh());
        // The lease is fresh, so the check does not query the database and does not notice.
        end_elsewhere(&lease).await;
        lease.check().await.unwrap();
    }
}
