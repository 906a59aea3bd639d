//! Names for the ids in events. If a name cannot be found, the id is printed, because an event must never be lost.

use std::collections::HashMap;

use client::{LiveTree, WorkspaceFollower};
use protocol::method::{
    FolderDeleted, FolderDeletedParams, ThreadGet, ThreadGetParams, ThreadTree, ThreadTreeParams, TurnGet,
    TurnGetParams,
};
use protocol::{FolderId, ThreadId, TurnId, WorkspaceId};

/// Maximum number of cached turns and threads, because the command may run for months.
const REMEMBERED: usize = 1_000;

/// A followed workspace and the names in it.
pub(super) struct Names {
    pub(super) changes: WorkspaceFollower,
    workspace_id: WorkspaceId,
    /// Last known folder tree.
    tree: Option<LiveTree>,
    threads: HashMap<ThreadId, String>,
    turns: HashMap<TurnId, String>,
}

impl Names {
    pub(super) fn new(changes: WorkspaceFollower, workspace_id: WorkspaceId) -> Self {
        Self { changes, workspace_id, tree: None, threads: HashMap::new(), turns: HashMap::new() }
    }

    /// Drops cached names after a rename or move.
    pub(super) fn forget_tree(&mut self) {
        self.tree = None;
        self.threads.clear();
    }

    /// Returns a folder's path, even if it is deleted.
    pub(super) async fn folder(&mut self, id: &FolderId) -> String {
        let known = |tree: &LiveTree| tree.folder(id).map(|_| tree.folder_path(id));
        if let Some(path) = self.tree.as_ref().and_then(known) {
            return path;
        }
        let params = ThreadTreeParams::without_threads(self.workspace_id.clone());
        let Ok(answer) = self.changes.call::<ThreadTree>(&params).await else { return id.to_string() };
        let mut tree = LiveTree::of(answer, None);
        if tree.folder(id).is_none() {
            let params = FolderDeletedParams { workspace_id: self.workspace_id.clone() };
            let deleted = self.changes.call::<FolderDeleted>(&params).await;
            tree.add_deleted(&deleted.map(|deleted| deleted.folders).unwrap_or_default());
        }
        // The new tree is kept even if it lacks the folder, because it is newer than the cached one.
        let tree = self.tree.insert(tree);
        known(tree).unwrap_or_else(|| id.to_string())
    }

    pub(super) async fn thread(&mut self, id: &ThreadId) -> String {
        if let Some(title) = self.threads.get(id) {
            return title.clone();
        }
        let params = ThreadGetParams { workspace_id: self.workspace_id.clone(), thread_id: id.clone() };
        let Ok(found) = self.changes.call::<ThreadGet>(&params).await else { return id.to_string() };
        // Dropping the whole cache is simple and only costs one lookup per name that is still in use.
        if self.threads.len() >= REMEMBERED {
            self.threads.clear();
        }
        self.threads.insert(id.clone(), found.thread.title.clone());
        found.thread.title
    }

    /// Returns a turn's number in its thread.
    pub(super) async fn turn(&mut self, id: &TurnId) -> String {
        if let Some(number) = self.turns.get(id) {
            return number.clone();
        }
        let params = TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: id.clone() };
        let Ok(found) = self.changes.call::<TurnGet>(&params.into()).await else { return id.to_string() };
        let number = found.turn.ordinal.to_string();
        if self.turns.len() >= REMEMBERED {
            self.turns.clear();
        }
        self.turns.insert(id.clone(), number.clone());
        number
    }
}
