//! Names for the ids in events. If a name cannot be found, the id is printed, because an event must never be lost.

use std::collections::HashMap;

use client::{Client, DeletedFolders, Target, TreeModel};
use protocol::method::{
    FolderDeleted, FolderDeletedParams, Method, ThreadGet, ThreadGetParams, ThreadTree, ThreadTreeParams,
    TurnGet, TurnGetParams,
};
use protocol::{FolderId, ThreadId, TurnId, WorkspaceId};

/// Maximum number of cached turns and threads, because the command may run for months.
const REMEMBERED: usize = 1_000;

pub(super) struct Names {
    client: Client,
    target: Target,
    workspace_id: WorkspaceId,
    /// Last known folder tree.
    tree: Option<TreeModel>,
    threads: HashMap<ThreadId, String>,
    turns: HashMap<TurnId, String>,
}

impl Names {
    pub(super) fn new(client: Client, target: Target, workspace_id: WorkspaceId) -> Self {
        Self { client, target, workspace_id, tree: None, threads: HashMap::new(), turns: HashMap::new() }
    }

    /// Drops cached names after a rename or move.
    pub(super) fn forget_tree(&mut self) {
        self.tree = None;
        self.threads.clear();
    }

    /// Returns a folder's path, even if it is deleted.
    pub(super) async fn folder(&mut self, id: &FolderId) -> String {
        let known = |tree: &TreeModel| tree.folder(id).map(|_| tree.path(id));
        if let Some(path) = self.tree.as_ref().and_then(known) {
            return path;
        }
        let params = ThreadTreeParams::without_threads(self.workspace_id.clone());
        let Some(tree) = self.ask::<ThreadTree>(&params).await.map(TreeModel::from) else {
            return id.to_string();
        };
        let path = known(&tree);
        // The new tree is kept even if it lacks the folder, because it is newer than the cached one.
        self.tree = Some(tree.clone());
        if let Some(path) = path {
            return path;
        }
        let params = FolderDeletedParams { workspace_id: self.workspace_id.clone() };
        let Some(deleted) = self.ask::<FolderDeleted>(&params).await else { return id.to_string() };
        let deleted = DeletedFolders::new(tree, deleted.folders);
        let found = deleted.iter().find(|deleted| deleted.folder.id == *id);
        found.map_or_else(|| id.to_string(), |found| deleted.path(found))
    }

    pub(super) async fn thread(&mut self, id: &ThreadId) -> String {
        if let Some(title) = self.threads.get(id) {
            return title.clone();
        }
        let params = ThreadGetParams { workspace_id: self.workspace_id.clone(), thread_id: id.clone() };
        let Some(found) = self.ask::<ThreadGet>(&params).await else { return id.to_string() };
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
        let Some(found) = self.ask::<TurnGet>(&params.into()).await else { return id.to_string() };
        let number = found.turn.ordinal.to_string();
        if self.turns.len() >= REMEMBERED {
            self.turns.clear();
        }
        self.turns.insert(id.clone(), number.clone());
        number
    }

    /// Calls a method, over a new connection if the old one was lost.
    async fn ask<M: Method>(&mut self, params: &M::Params) -> Option<M::Result> {
        match self.client.call::<M>(params).await {
            Err(error) if error.is_transient() => {
                self.client = Client::connect(&self.target).await.ok()?;
                self.client.call::<M>(params).await.ok()
            }
            answer => answer.ok(),
        }
    }
}
