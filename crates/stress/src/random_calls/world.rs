//! A workspace with a folder, a thread and optionally a secret.

use client::{Client, ClientError};
use protocol::method::{
    DocumentSave, DocumentSaveParams, FolderCreate, FolderCreateParams, ThreadCreate, ThreadCreateParams,
};
use protocol::{FolderId, ThreadId, ThreadMode, WorkspaceId};
use test_gateway::TestGateway;

/// Text that occurs in one workspace only and in no parameter.
pub(crate) const SECRET: &str = "only for those who may see it";

pub(crate) struct World {
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) folder_id: FolderId,
    pub(crate) thread_id: ThreadId,
}

impl World {
    pub(crate) async fn new(gateway: &TestGateway, name: &str) -> anyhow::Result<Self> {
        let owner = gateway.owner_in_memory();
        let workspace_id = gateway.workspace(name).await?.id;
        let name = "folder".to_owned();
        let folder = FolderCreateParams { workspace_id: workspace_id.clone(), parent_folder_id: None, name };
        let folder_id = owner.call::<FolderCreate>(&folder).await?.folder.id;
        let thread = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: Some(folder_id.clone()),
            title: "thread".to_owned(),
            mode: ThreadMode::Chat,
        };
        let thread_id = owner.call::<ThreadCreate>(&thread).await?.thread.id;
        Ok(Self { workspace_id, folder_id, thread_id })
    }

    pub(crate) async fn with_secret(gateway: &TestGateway, name: &str) -> anyhow::Result<Self> {
        let world = Self::new(gateway, name).await?;
        world.save(&gateway.owner_in_memory(), SECRET).await?;
        Ok(world)
    }

    async fn save(&self, owner: &Client, content: &str) -> Result<(), ClientError> {
        let params = DocumentSaveParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: Some(self.folder_id.clone()),
            content: content.to_owned(),
            expected_version: None,
            save_reason: None,
            message: None,
        };
        owner.call::<DocumentSave>(&params).await.map(|_| ())
    }
}
