//! The scope of a document: the workspace root or a folder.

use protocol::{FolderId, WorkspaceId};

/// A workspace's root, or one of its folders.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    pub workspace_id: WorkspaceId,
    /// `None` for the root.
    pub folder_id: Option<FolderId>,
}

impl Scope {
    pub fn root(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, folder_id: None }
    }

    pub fn folder(workspace_id: WorkspaceId, folder_id: FolderId) -> Self {
        Self { workspace_id, folder_id: Some(folder_id) }
    }
}

/// Builds a statement about one scope: `$1` is the workspace, `$2` the folder.
// The root needs its own text: SQLite uses a partial index only if the query contains the index's condition, word for
// word.
macro_rules! in_scope {
    ($scope:expr, $before:expr, $after:expr) => {
        match $scope.folder_id {
            Some(_) => concat!($before, " workspace_id = $1 AND folder_id = $2 ", $after),
            None => concat!(
                $before,
                " workspace_id = $1 AND folder_id IS NULL AND CAST($2 AS TEXT) IS NULL ",
                $after
            ),
        }
    };
}
pub(crate) use in_scope;
