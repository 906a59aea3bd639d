//! The lease of a turn that runs here: renewed while it runs, and looked at before anything is run in its name.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{Timestamp, TurnId, WorkspaceId};
use store::{Lease, StoreError};
use tokio::time::Instant;
use tools::{GateClosed, RunGate};

use crate::agent::Agent;

/// How long a turn counts as alive after its last sign of life.
pub(crate) const LEASE: Duration = Duration::from_secs(15);
/// How often a running turn says that it is alive.
pub(crate) const RENEWAL: Duration = Duration::from_secs(5);

/// A lease that was renewed this short a time ago has not been taken by anybody.
const FRESH: Duration = Duration::from_millis(LEASE.as_millis() as u64 / 2);

/// The lease of a turn.
pub(crate) struct TurnLease {
    agent: Arc<Agent>,
    workspace_id: WorkspaceId,
    turn_id: TurnId,
    renewed: Mutex<Renewal>,
}

/// When the lease was last renewed, by both clocks: one stands still while a machine sleeps, the other can be set.
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
    /// The lease of a turn that was written just now.
    pub(crate) fn new(agent: Arc<Agent>, workspace_id: WorkspaceId, turn_id: TurnId) -> Self {
        Self { agent, workspace_id, turn_id, renewed: Mutex::new(Renewal::now()) }
    }

    /// Says that the turn is alive; an error when it is not ours any more.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        // Taken before: what the store does may take long, too.
        let now = Renewal::now();
        self.agent.store.renew_lease(&self.workspace_id, &self.turn_id, &self.agent.lease()).await?;
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = now;
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

/// A gateway that was frozen wakes up in the middle of whatever it did: before it runs anything, it makes sure that
/// nobody has ended the turn meanwhile.
impl RunGate for TurnLease {
    fn check(&self) -> BoxFuture<'_, Result<(), GateClosed>> {
        Box::pin(async {
            let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// A lease of a turn that an agent has just begun.
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

    /// Another gateway takes the turn for dead.
    async fn end_elsewhere(lease: &TurnLease) {
        let later = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 60_000);
        let error = turn_error(&AgentError::GatewayGone);
        let failed = lease.agent.store.fail_expired_turns(later, 10, &[], &error).await.unwrap();
        assert_eq!(failed.len(), 1);
    }

    #[tokio::test]
    async fn a_gateway_that_wakes_after_its_turn_was_ended_runs_nothing() {
        let is_old: [fn(&mut Renewal); 2] = [
            |renewed| renewed.by_running_time -= FRESH,
            // A machine that slept: only the clock on the wall went on.
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
            make_old(&mut lease.renewed.lock().unwrap());
            let refused = lease.check().await.unwrap_err();
            assert!(refused.to_string().starts_with("the turn may have ended meanwhile: "), "{refused}");
        }
    }

    #[tokio::test]
    async fn an_old_lease_that_nobody_took_is_renewed() {
        let directory = tempfile::tempdir().unwrap();
        let lease = begun(&directory).await;
        lease.renewed.lock().unwrap().by_running_time -= FRESH;
        lease.check().await.unwrap();
        assert!(lease.renewed.lock().unwrap().is_fresh());
        // Fresh as it is, nobody asks the database.
        end_elsewhere(&lease).await;
        lease.check().await.unwrap();
    }
}
