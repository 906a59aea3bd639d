//! How many connections of the pool writers may take, and those of one workspace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use protocol::WorkspaceId;
use tokio::sync::Semaphore;

/// Writers of one workspace at once. They would wait for each other in the database anyway, each with a connection that
/// others need: the first runs, the second is ready as soon as it has committed.
const WRITERS_OF_A_WORKSPACE: usize = 2;

/// One lane a workspace; gone when nobody is in it.
#[derive(Default)]
pub(crate) struct Lanes {
    workspaces: Mutex<HashMap<WorkspaceId, Weak<Semaphore>>>,
}

impl Lanes {
    /// The lane of a workspace; it is fair.
    pub(crate) fn of(&self, workspace_id: &WorkspaceId) -> Arc<Semaphore> {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = workspaces.get(workspace_id).and_then(Weak::upgrade) {
            return lane;
        }
        workspaces.retain(|_, lane| lane.strong_count() > 0);
        let lane = Arc::new(Semaphore::new(WRITERS_OF_A_WORKSPACE));
        workspaces.insert(workspace_id.clone(), Arc::downgrade(&lane));
        lane
    }
}
