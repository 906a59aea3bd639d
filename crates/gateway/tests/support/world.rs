//! A workspace with a folder, a thread and a document in each scope.

use client::Client;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use super::ask;

/// Ids of the created objects.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) workspace: String,
    pub(crate) folder: String,
    pub(crate) thread: String,
}

impl World {
    /// Creates a workspace `name` with the folder `folder` and the thread `thread` in it.
    pub(crate) async fn new(gateway: &TestGateway, name: &str) -> Self {
        let owner = gateway.owner_in_memory();
        let workspace =
            id(&ask(&owner, "workspace/create", json!({ "name": name })).await.unwrap()["workspace"]);
        Self::grow(&owner, workspace).await
    }

    /// Creates another folder and thread in a workspace.
    pub(crate) async fn grow(owner: &Client, workspace: String) -> Self {
        let params = json!({ "workspace_id": workspace, "name": "folder" });
        let folder = id(&ask(owner, "thread/folder/create", params).await.unwrap()["folder"]);
        let params = json!({ "workspace_id": workspace, "folder_id": folder, "title": "thread" });
        let thread = id(&ask(owner, "thread/create", params).await.unwrap()["thread"]);
        Self { workspace, folder, thread }
    }

    /// Returns `others` with the workspace's id added.
    pub(crate) fn with(&self, others: Value) -> Value {
        let mut params = json!({ "workspace_id": self.workspace });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    }
}

/// Returns the id of a workspace, folder, thread or document.
pub(crate) fn id(thing: &Value) -> String {
    thing["id"].as_str().unwrap().to_owned()
}
