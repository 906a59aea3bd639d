//! Limits the connections that the writers of one workspace may take.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use protocol::WorkspaceId;
use tokio::sync::Semaphore;

/// Concurrent writers of one workspace.
// They wait for the same row lock anyway, each with a connection that others need. With two, the second is ready as
// soon as the first has committed.
const WRITERS_OF_A_WORKSPACE: usize = 2;

/// A semaphore for each workspace that has a writer.
#[derive(Default)]
pub(crate) struct WorkspaceWriters {
    workspaces: Mutex<HashMap<WorkspaceId, Weak<Semaphore>>>,
}

impl WorkspaceWriters {
    /// Returns true if this gateway has no writer for a workspace.
    pub(crate) fn has_no_writers(&self, workspace_id: &WorkspaceId) -> bool {
        let workspaces = self.workspaces.lock();
        let permits = workspaces.get(workspace_id).and_then(Weak::upgrade);
        permits.is_none_or(|permits| permits.available_permits() == WRITERS_OF_A_WORKSPACE)
    }

    /// Returns the fair semaphore of a workspace.
    pub(crate) fn of(&self, workspace_id: &WorkspaceId) -> Arc<Semaphore> {
        let mut workspaces = self.workspaces.lock();
        if let Some(permits) = workspaces.get(workspace_id).and_then(Weak::upgrade) {
            return permits;
        }
        // Semaphores without a writer are removed only when a new one is added, which keeps the map as small as the
        // number of busy workspaces.
        workspaces.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(WRITERS_OF_A_WORKSPACE));
        workspaces.insert(workspace_id.clone(), Arc::downgrade(&permits));
        permits
    }
}
