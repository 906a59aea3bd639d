//! Content for benchmarks.

use protocol::method::DocumentSaveParams;
use protocol::method::{ThreadCreateParams, WorkspaceCreateParams};
use protocol::{FolderId, SaveReason, ThreadId, ThreadMode, WorkspaceId};
use store::{Scope, Store};

pub const ACTOR: &str = "benchmark";
/// Nesting of folders.
pub const DEPTH: usize = 10;

/// A thread in the innermost of [`DEPTH`] folders with a document in the outermost, so that resolution walks all the
/// way.
#[derive(Debug, Clone)]
pub struct DeepThread {
    pub workspace_id: WorkspaceId,
    pub thread_id: ThreadId,
    /// The folder that has the document.
    pub outermost: FolderId,
}

impl DeepThread {
    /// Creates the folders and the thread in a new workspace.
    pub async fn create(store: &Store) -> anyhow::Result<Self> {
        let workspace_id = workspace(store).await?;
        let mut folders: Vec<FolderId> = Vec::new();
        for _ in 0..DEPTH {
            folders.push(folder(store, &workspace_id, folders.last(), folders.len()).await?);
        }
        let thread_id = thread(store, &workspace_id, folders.last(), 0).await?;
        let deep = Self { workspace_id, thread_id, outermost: folders.swap_remove(0) };
        store.save_document(save(deep.scope(), 0), Some(ACTOR)).await?;
        Ok(deep)
    }

    /// Returns the scope of the document.
    pub fn scope(&self) -> Scope {
        Scope::folder(self.workspace_id.clone(), self.outermost.clone())
    }
}

pub async fn workspace(store: &Store) -> anyhow::Result<WorkspaceId> {
    // Names must not repeat when a benchmark runs again on the same database.
    let name = format!("benchmark {}", WorkspaceId::new());
    let new = WorkspaceCreateParams { name, ..WorkspaceCreateParams::default() };
    Ok(store.create_workspace(new, Some(ACTOR)).await?.id)
}

pub async fn folder(
    store: &Store,
    workspace_id: &WorkspaceId,
    parent: Option<&FolderId>,
    number: usize,
) -> anyhow::Result<FolderId> {
    let name = format!("Folder number {number}");
    Ok(store.create_folder(workspace_id, parent, &name, Some(ACTOR)).await?.id)
}

pub async fn thread(
    store: &Store,
    workspace_id: &WorkspaceId,
    folder_id: Option<&FolderId>,
    number: usize,
) -> anyhow::Result<ThreadId> {
    let title = format!("What the thread number {number} is about");
    let workspace_id = workspace_id.clone();
    let folder_id = folder_id.cloned();
    let new = ThreadCreateParams { workspace_id, folder_id, title, mode: ThreadMode::Chat };
    Ok(store.create_thread(new, Some(ACTOR)).await?.id)
}

/// Returns a save whose text differs for each number.
pub fn save(scope: Scope, number: u64) -> DocumentSaveParams {
    let Scope { workspace_id, folder_id } = scope;
    let content = text(number);
    let save_reason = Some(SaveReason::Autosave);
    DocumentSaveParams {
        workspace_id,
        folder_id,
        content,
        expected_version: None,
        save_reason,
        message: None,
    }
}

/// Returns a text of about two kilobytes.
pub fn text(number: u64) -> String {
    let rule =
        "- Keep functions short, name things for what they mean, and run the tests before you answer.\n";
    // The number has a fixed width, so that every edition has the same length and measurements are comparable. It is
    // near the beginning, so that a comparison of two editions has to look at the rest.
    format!("# Rules, edition {number:08}\n\n{}", rule.repeat(21))
}
