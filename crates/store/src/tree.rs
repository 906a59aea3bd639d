//! The whole tree of a workspace, read in one snapshot.

use protocol::method::ThreadTreeResult;
use protocol::{DocumentSummary, Folder, Placement, ThreadSummary, WorkspaceId};

use crate::column::values;
use crate::on::On;
use crate::{Store, StoreError};

const FOLDERS: &str = "SELECT id, parent_folder_id, name, created_at, updated_at FROM folder
    WHERE workspace_id = $1 AND deleted_at IS NULL ORDER BY id";
const THREADS: &str = "SELECT id, title, mode, created_at, updated_at FROM thread
    WHERE workspace_id = $1 AND archived_at IS NULL ORDER BY id";
const PLACEMENTS: &str = "SELECT p.thread_id, p.folder_id FROM thread_placement p
    JOIN thread t ON p.thread_id = t.id WHERE p.workspace_id = $1 AND t.archived_at IS NULL ORDER BY p.thread_id";
const DOCUMENTS: &str = "SELECT id, folder_id, status, content_sha256, version, char_count, updated_at
    FROM thread_agents_doc WHERE workspace_id = $1 AND status IN ('draft', 'active') ORDER BY id";

impl Store {
    /// Folders, threads, placements and document summaries, and the sequence number they are true for.
    pub async fn tree(&self, workspace_id: &WorkspaceId) -> Result<ThreadTreeResult, StoreError> {
        let workspace_id = workspace_id.clone();
        self.read_snapshot(async move |on: &mut On<'_>| {
            Ok(ThreadTreeResult {
                seq: on.sequence(&workspace_id).await?,
                folders: folders(on, &workspace_id).await?,
                threads: threads(on, &workspace_id).await?,
                placements: placements(on, &workspace_id).await?,
                agents_docs: documents(on, &workspace_id).await?,
                more: Vec::new(),
                workspace_id,
            })
        })
        .await
    }
}

async fn folders(on: &mut On<'_>, workspace_id: &WorkspaceId) -> Result<Vec<Folder>, StoreError> {
    on.all(FOLDERS, values![workspace_id], |mut row| {
        Ok(Folder {
            id: row.next()?,
            workspace_id: workspace_id.clone(),
            parent_folder_id: row.next()?,
            name: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
        })
    })
    .await
}

async fn threads(on: &mut On<'_>, workspace_id: &WorkspaceId) -> Result<Vec<ThreadSummary>, StoreError> {
    on.all(THREADS, values![workspace_id], |mut row| {
        Ok(ThreadSummary {
            id: row.next()?,
            title: row.next()?,
            mode: row.next()?,
            created_at: row.next()?,
            updated_at: row.next()?,
        })
    })
    .await
}

async fn placements(on: &mut On<'_>, workspace_id: &WorkspaceId) -> Result<Vec<Placement>, StoreError> {
    on.all(PLACEMENTS, values![workspace_id], |mut row| {
        Ok(Placement { thread_id: row.next()?, folder_id: row.next()? })
    })
    .await
}

async fn documents(on: &mut On<'_>, workspace_id: &WorkspaceId) -> Result<Vec<DocumentSummary>, StoreError> {
    on.all(DOCUMENTS, values![workspace_id], |mut row| {
        Ok(DocumentSummary {
            id: row.next()?,
            workspace_id: workspace_id.clone(),
            folder_id: row.next()?,
            status: row.next()?,
            content_sha256: row.next()?,
            version: row.next()?,
            char_count: row.next()?,
            updated_at: row.next()?,
        })
    })
    .await
}
