//! The lease of a turn that runs here: renewed while it runs, and looked at before anything is run in its name.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::{Timestamp, TurnId, WorkspaceId};
use store::StoreError;
use tokio::time::Instant;
use tools::RunGate;

use crate::preparation::Agent;
use crate::turn::LEASE;

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

/// A gateway that was frozen wakes up in the middle of whatever it did: before it runs anything, it makes sure that
/// nobody has ended the turn meanwhile.
impl RunGate for TurnLease {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            if renewed.is_fresh() {
                return Ok(());
            }
            self.renew().await.map_err(|error| format!("the turn may have ended meanwhile: {error}"))
        })
    }
}
