//! Folders, named by path or id.

use client::{Client, LiveTree};
use protocol::method::{FolderDeleted, FolderDeletedParams, ThreadTree, ThreadTreeParams};
use protocol::{DeletedFolder, FolderId, WorkspaceId};

use super::names::{self, Candidate, FOLDER};
use crate::arguments::InScope;
use crate::context::Context;
use crate::failure::Failure;
use crate::shell_quote::shell_word;

/// Deleted folders, most recently deleted first, with the path they had.
pub(crate) type DeletedFolders = Vec<(DeletedFolder, String)>;

/// Scope of a command about history, possibly of a deleted folder.
pub(crate) struct PastScope {
    pub(crate) workspace_id: WorkspaceId,
    /// `None` for the root.
    pub(crate) folder_id: Option<FolderId>,
    /// The folder, if it is deleted.
    pub(crate) deleted: Option<DeletedFolder>,
}

impl Context {
    /// Returns the folder with this path or id. `None` for `/`, the root.
    pub(crate) async fn folder_or_root(
        &self,
        client: &Client,
        workspace_id: &WorkspaceId,
        named: &str,
    ) -> Result<Option<FolderId>, Failure> {
        if is_root(named) {
            return Ok(None);
        }
        self.folder(client, workspace_id, named).await.map(Some)
    }

    /// Returns the folder with this path or id.
    pub(crate) async fn folder(
        &self,
        client: &Client,
        workspace_id: &WorkspaceId,
        named: &str,
    ) -> Result<FolderId, Failure> {
        let tree = tree(client, workspace_id).await?;
        if let Some(found) = find(&tree, named)? {
            return Ok(found);
        }
        // Suggesting a similar name would be misleading if a deleted folder matches exactly.
        match deleted_folders(client, workspace_id, tree.clone()).await {
            Ok(deleted) if !matching(&deleted, named).is_empty() => Err(is_deleted(&deleted, named)),
            _ => Err(unknown(&tree, named)),
        }
    }

    /// Returns the deleted folders of a workspace.
    pub(crate) async fn deleted_folders(
        &self,
        client: &Client,
        workspace_id: &WorkspaceId,
    ) -> Result<DeletedFolders, Failure> {
        deleted_folders(client, workspace_id, tree(client, workspace_id).await?).await
    }

    /// Returns the deleted folder with this former path or id.
    pub(crate) async fn deleted_folder(
        &self,
        client: &Client,
        workspace_id: &WorkspaceId,
        named: &str,
    ) -> Result<DeletedFolder, Failure> {
        let tree = tree(client, workspace_id).await?;
        let deleted = deleted_folders(client, workspace_id, tree.clone()).await?;
        if let Some(folder) = find_deleted(&deleted, named)? {
            return Ok(folder);
        }
        let message = match find(&tree, named) {
            Ok(None) => format!("deleted folder `{named}` not found"),
            _ => format!("folder `{named}` is not deleted"),
        };
        Err(Failure::usage(message).hint("list deleted folders with `foreword folder deleted`"))
    }

    /// Returns the scope of a command about history. Falls back to a deleted folder if no other has the name.
    pub(crate) async fn past_scope(&self, client: &Client, scope: &InScope) -> Result<PastScope, Failure> {
        let workspace_id = self.workspace(client, &scope.workspace).await?.id;
        let Some(named) = scope.folder.as_deref().filter(|named| !is_root(named)) else {
            return Ok(PastScope { workspace_id, folder_id: None, deleted: None });
        };
        let tree = tree(client, &workspace_id).await?;
        // An existing folder takes precedence over a deleted one with the same path.
        if let Some(folder_id) = find(&tree, named)? {
            return Ok(PastScope { workspace_id, folder_id: Some(folder_id), deleted: None });
        }
        let deleted = deleted_folders(client, &workspace_id, tree.clone()).await?;
        let deleted = find_deleted(&deleted, named)?.ok_or_else(|| unknown(&tree, named))?;
        Ok(PastScope { workspace_id, folder_id: Some(deleted.folder.id.clone()), deleted: Some(deleted) })
    }
}

fn is_root(named: &str) -> bool {
    !named.is_empty() && named.chars().all(|character| character == '/')
}

async fn tree(client: &Client, workspace_id: &WorkspaceId) -> Result<LiveTree, Failure> {
    let params = ThreadTreeParams::without_threads(workspace_id.clone());
    Ok(LiveTree::of(client.call::<ThreadTree>(&params).await?, None))
}

async fn deleted_folders(
    client: &Client,
    workspace_id: &WorkspaceId,
    mut tree: LiveTree,
) -> Result<DeletedFolders, Failure> {
    let params = FolderDeletedParams { workspace_id: workspace_id.clone() };
    let folders = client.call::<FolderDeleted>(&params).await?.folders;
    tree.add_deleted(&folders);
    let path = |deleted: &DeletedFolder| tree.folder_path(&deleted.folder.id);
    Ok(folders.iter().map(|deleted| (deleted.clone(), path(deleted))).collect())
}

fn find(tree: &LiveTree, named: &str) -> Result<Option<FolderId>, Failure> {
    let path = normal_path(named);
    let candidates = tree.folders().map(|folder| Candidate {
        value: folder.id.clone(),
        id: folder.id.to_string(),
        name: tree.folder_path(&folder.id),
        title: None,
        about: None,
    });
    let candidates: Vec<_> = candidates.collect();
    // The name as typed goes first, because it may be an id. Otherwise `/a/b/` means the folder `a/b`.
    match names::choose(FOLDER, named, candidates.clone())? {
        None if path != named => names::choose(FOLDER, &path, candidates),
        found => Ok(found),
    }
}

/// Returns the deleted folders with this id or path. Several can match, because names may repeat.
fn matching<'a>(deleted: &'a DeletedFolders, named: &str) -> Vec<&'a DeletedFolder> {
    // An id is tried first: it identifies one folder, whereas a path may match several.
    if let Some((folder, _)) = deleted.iter().find(|(deleted, _)| deleted.folder.id.as_str() == named) {
        return vec![folder];
    }
    let named = normal_path(named);
    deleted.iter().filter(|(_, path)| *path == named).map(|(folder, _)| folder).collect()
}

/// Returns a path without empty components: `a/b` for `/a/b/`.
fn normal_path(named: &str) -> String {
    named.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
}

fn find_deleted(deleted: &DeletedFolders, named: &str) -> Result<Option<DeletedFolder>, Failure> {
    match matching(deleted, named).as_slice() {
        [] => Ok(None),
        [folder] => Ok(Some(DeletedFolder::clone(folder))),
        several => {
            let message = format!("several deleted folders have the path `{named}`");
            Err(ambiguous(message, several.iter().map(|deleted| &deleted.folder.id)))
        }
    }
}

fn is_deleted(deleted: &DeletedFolders, named: &str) -> Failure {
    let failure = Failure::usage(format!("folder `{named}` is deleted"));
    match find_deleted(deleted, named) {
        Ok(_) => failure.hint(format!("restore it with `foreword folder restore {}`", shell_word(named))),
        Err(several) => several.hints.into_iter().fold(failure, Failure::hint),
    }
}

fn unknown(tree: &LiveTree, named: &str) -> Failure {
    let paths: Vec<String> = tree.folders().map(|folder| tree.folder_path(&folder.id)).collect();
    names::unknown(FOLDER, named, paths.iter().map(String::as_str))
}

fn ambiguous<'a>(message: String, ids: impl Iterator<Item = &'a FolderId>) -> Failure {
    let ids: Vec<&str> = ids.map(FolderId::as_str).collect();
    Failure::usage(message).hint(format!("use one of the ids: {}", ids.join(", ")))
}

#[cfg(test)]
mod tests {
    use protocol::{Folder, Timestamp};

    use super::*;

    #[test]
    fn deleted_folders_are_found_by_former_path() {
        let now = Timestamp::now();
        let deleted = |id: &str, path: &str| {
            let folder = Folder {
                id: id.parse().unwrap(),
                workspace_id: "w".parse().unwrap(),
                parent_folder_id: None,
                name: path.to_owned(),
                created_at: now,
                updated_at: now,
            };
            (DeletedFolder { folder, deleted_at: now, doc: None }, path.to_owned())
        };
        let folders = vec![deleted("3", "services/api/v1"), deleted("4", "old"), deleted("5", "old")];
        let found = |named: &str| -> Vec<String> {
            matching(&folders, named).iter().map(|deleted| deleted.folder.id.to_string()).collect()
        };
        assert_eq!(found("/services/api/v1/"), ["3"]);
        assert_eq!(found("old"), ["4", "5"]);
        assert_eq!(found("5"), ["5"]);
        assert!(found("services").is_empty() && found("/").is_empty() && found("v1").is_empty());
    }
}
