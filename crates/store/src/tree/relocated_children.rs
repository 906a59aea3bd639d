//! The children that leave a folder when it is deleted.

// They are recorded because afterwards nothing distinguishes them from the parent's other children.

use protocol::{Folder, FolderId, ThreadId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::column::{Value, to_json, values};
use crate::connection::numbered;
use crate::write::workspace_write::WorkspaceWrite;

/// Number of folders, and of threads, that are recorded.
// Further ones are only counted.
const MAX_KEPT: usize = 20;

/// Children that moved out of a folder when it was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelocatedChildren {
    pub folders: Moved,
    pub threads: Moved,
}

/// Moved children of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    pub count: u64,
    /// Current names of some that still exist.
    pub names: Vec<String>,
}

/// The stored form, with ids: names may change.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredChildren {
    folders: u64,
    folder_ids: Vec<FolderId>,
    threads: u64,
    thread_ids: Vec<ThreadId>,
}

impl WorkspaceWrite<'_, '_> {
    /// Moves the children of a folder to its parent and records them.
    pub(crate) async fn move_out(&mut self, folder: &Folder) -> Result<(), StoreError> {
        // The children are recorded before they move; afterwards the queries would not find them.
        let moved = self.contents(folder).await?;
        let parent = folder.parent_folder_id.as_ref();
        let folders = "UPDATE folder SET parent_folder_id = $1, updated_at = $2
            WHERE parent_folder_id = $3 AND deleted_at IS NULL";
        self.tx.execute(folders, values![parent, self.now, &folder.id]).await?;
        match parent {
            Some(parent) => {
                let threads = "UPDATE thread_placement SET folder_id = $1 WHERE folder_id = $2";
                self.tx.execute(threads, values![parent, &folder.id]).await?;
            }
            None => {
                let threads = "DELETE FROM thread_placement WHERE folder_id = $1";
                self.tx.execute(threads, values![&folder.id]).await?;
            }
        }
        let text = to_json(&moved)?;
        self.tx.execute("UPDATE folder SET moved_out = $1 WHERE id = $2", values![&text, &folder.id]).await?;
        Ok(())
    }

    async fn contents(&mut self, folder: &Folder) -> Result<StoredChildren, StoreError> {
        const FOLDERS: &str = "FROM folder WHERE parent_folder_id = $1 AND deleted_at IS NULL";
        const THREADS: &str = "FROM thread_placement p JOIN thread t ON t.id = p.thread_id
            WHERE p.folder_id = $1 AND t.archived_at IS NULL";
        let values = values![&folder.id];
        let select = format!("SELECT id {FOLDERS} ORDER BY name, id LIMIT {MAX_KEPT}");
        let folder_ids = self.tx.all(select, values, |mut row| row.next()).await?;
        let select = format!("SELECT t.id {THREADS} ORDER BY t.title, t.id LIMIT {MAX_KEPT}");
        let thread_ids = self.tx.all(select, values, |mut row| row.next()).await?;
        let folders = self.count(FOLDERS, values).await?;
        let threads = self.count(THREADS, values).await?;
        Ok(StoredChildren { folders, folder_ids, threads, thread_ids })
    }

    async fn count(&mut self, from: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let select = format!("SELECT COUNT(*) {from}");
        let counted: Option<u64> = self.tx.one_by_key(select, values, |mut row| row.next()).await?;
        Ok(counted.unwrap_or_default())
    }

    /// Returns the recorded children by their current names.
    pub(crate) async fn moved_out(
        &mut self,
        stored: &StoredChildren,
    ) -> Result<RelocatedChildren, StoreError> {
        let select = "SELECT name FROM folder WHERE deleted_at IS NULL AND id IN";
        let folders = self.names(select, stored.folder_ids.iter().map(Value::from).collect()).await?;
        let select = "SELECT title FROM thread WHERE archived_at IS NULL AND id IN";
        let threads = self.names(select, stored.thread_ids.iter().map(Value::from).collect()).await?;
        Ok(RelocatedChildren {
            folders: Moved { count: stored.folders, names: folders },
            threads: Moved { count: stored.threads, names: threads },
        })
    }

    async fn names(&mut self, select: &str, ids: Vec<Value<'_>>) -> Result<Vec<String>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let select = format!("{select} ({}) ORDER BY 1", numbered(1, ids.len()));
        self.tx.all(select, &ids, |mut row| row.next()).await
    }
}
