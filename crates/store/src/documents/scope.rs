//! A place that can have a document: the workspace root or a folder.

use protocol::{FolderId, WorkspaceId};

/// A workspace's root, or one of its folders.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    pub workspace_id: WorkspaceId,
    /// The folder; none for the root.
    pub folder_id: Option<FolderId>,
}

impl Scope {
    /// The root of a workspace.
    pub fn root(workspace_id: WorkspaceId) -> Self {
        Self { workspace_id, folder_id: None }
    }

    /// A folder of a workspace.
    pub fn folder(workspace_id: WorkspaceId, folder_id: FolderId) -> Self {
        Self { workspace_id, folder_id: Some(folder_id) }
    }
}

/// A statement about one scope, whose workspace is `$1` and whose folder is `$2`.
///
/// The root needs a text of its own: SQLite uses a partial index only for its own condition, word for word.
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
