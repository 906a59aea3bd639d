//! How many connections of the pool writers may take, and those of one workspace.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use protocol::WorkspaceId;
use tokio::sync::Semaphore;

/// Writers of one workspace at once. They would wait for each other in the database anyway, each with a connection that
/// others need: the first runs, the second is ready as soon as it has committed.
const WRITERS_OF_A_WORKSPACE: usize = 2;

/// A semaphore for each workspace that has a writer.
#[derive(Default)]
pub(crate) struct WorkspaceWriters {
    workspaces: Mutex<HashMap<WorkspaceId, Weak<Semaphore>>>,
}

impl WorkspaceWriters {
    /// Whether nobody writes to a workspace.
    pub(crate) fn has_no_writers(&self, workspace_id: &WorkspaceId) -> bool {
        let workspaces = self.workspaces.lock();
        let permits = workspaces.get(workspace_id).and_then(Weak::upgrade);
        permits.is_none_or(|permits| permits.available_permits() == WRITERS_OF_A_WORKSPACE)
    }

    /// The semaphore of a workspace; it is fair.
    pub(crate) fn of(&self, workspace_id: &WorkspaceId) -> Arc<Semaphore> {
        let mut workspaces = self.workspaces.lock();
        if let Some(permits) = workspaces.get(workspace_id).and_then(Weak::upgrade) {
            return permits;
        }
        workspaces.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(WRITERS_OF_A_WORKSPACE));
        workspaces.insert(workspace_id.clone(), Arc::downgrade(&permits));
        permits
    }
}
