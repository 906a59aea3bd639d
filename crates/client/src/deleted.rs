//! Deleted folders, addressed by the path they had.

use protocol::{DeletedFolder, FolderId};

use crate::TreeModel;

/// Deleted folders of a workspace and the tree they were in.
#[derive(Debug, Clone)]
pub struct DeletedFolders {
    tree: TreeModel,
    folders: Vec<DeletedFolder>,
}

impl DeletedFolders {
    /// Creates the list from the results of `thread/tree` and `thread/folder/deleted`.
    pub fn new(tree: TreeModel, folders: Vec<DeletedFolder>) -> Self {
        Self { tree, folders }
    }

    /// Iterates over the folders, most recently deleted first.
    pub fn iter(&self) -> impl Iterator<Item = &DeletedFolder> {
        self.folders.iter()
    }

    /// Returns the folder's former path joined by `/`, including deleted ancestors.
    pub fn path(&self, deleted: &DeletedFolder) -> String {
        let mut names = vec![deleted.folder.name.as_str()];
        let mut parent = deleted.folder.parent_folder_id.as_ref();
        let mut living = String::new();
        while let Some(id) = parent {
            // The first living ancestor ends the walk, because the tree knows the rest of the path.
            let Some(above) = self.get(id) else {
                living = self.tree.path(id);
                break;
            };
            // The two results were read at different moments, so their parents may form a cycle.
            if names.len() > self.folders.len() {
                break;
            }
            names.push(above.folder.name.as_str());
            parent = above.folder.parent_folder_id.as_ref();
        }
        if !living.is_empty() {
            names.push(&living);
        }
        names.reverse();
        names.join("/")
    }

    /// Returns the folders with this id or path. Several folders can match because names may repeat.
    pub fn find(&self, named: &str) -> Vec<&DeletedFolder> {
        // An id is tried first: it identifies one folder, whereas a path may match several.
        if let Some(folder) = named.parse().ok().and_then(|id| self.get(&id)) {
            return vec![folder];
        }
        let path: Vec<&str> = named.split('/').filter(|name| !name.is_empty()).collect();
        let path = path.join("/");
        self.folders.iter().filter(|folder| self.path(folder) == path).collect()
    }

    fn get(&self, id: &FolderId) -> Option<&DeletedFolder> {
        self.folders.iter().find(|deleted| &deleted.folder.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::method::ThreadTreeResult;
    use protocol::{Folder, Sequence, Timestamp};

    fn folder(id: &str, parent: Option<&str>, name: &str) -> Folder {
        Folder {
            id: id.parse().unwrap(),
            workspace_id: "w".parse().unwrap(),
            parent_folder_id: parent.map(|parent| parent.parse().unwrap()),
            name: name.to_owned(),
            created_at: Timestamp::from_milliseconds(0),
            updated_at: Timestamp::from_milliseconds(0),
        }
    }

    fn deleted(id: &str, parent: Option<&str>, name: &str) -> DeletedFolder {
        let deleted_at = Timestamp::from_milliseconds(0);
        DeletedFolder { folder: folder(id, parent, name), deleted_at, doc: None }
    }

    #[test]
    fn deleted_folders_are_found_by_former_path() {
        let tree = TreeModel::from(ThreadTreeResult {
            workspace_id: "w".parse().unwrap(),
            seq: Sequence(1),
            folders: vec![folder("1", None, "services")],
            threads: vec![],
            placements: vec![],
            agents_docs: vec![],
            more: vec![],
        });
        let folders = DeletedFolders::new(
            tree,
            vec![
                deleted("3", Some("2"), "v1"),
                deleted("2", Some("1"), "api"),
                deleted("4", None, "old"),
                deleted("5", None, "old"),
            ],
        );
        let paths: Vec<String> = folders.iter().map(|folder| folders.path(folder)).collect();
        assert_eq!(paths, ["services/api/v1", "services/api", "old", "old"]);
        let found = |named: &str| -> Vec<String> {
            folders.find(named).iter().map(|deleted| deleted.folder.id.to_string()).collect()
        };
        assert_eq!(found("/services/api/v1/"), ["3"]);
        assert_eq!(found("old"), ["4", "5"]);
        assert_eq!(found("5"), ["5"]);
        assert!(found("services").is_empty() && found("/").is_empty() && found("v1").is_empty());
    }

    #[test]
    fn a_cycle_of_parents_ends_the_path() {
        let tree = TreeModel::from(ThreadTreeResult {
            workspace_id: "w".parse().unwrap(),
            seq: Sequence(1),
            folders: vec![],
            threads: vec![],
            placements: vec![],
            agents_docs: vec![],
            more: vec![],
        });
        let folders =
            DeletedFolders::new(tree, vec![deleted("1", Some("2"), "a"), deleted("2", Some("1"), "b")]);
        // Contradictory data has no correct path. The loop must end, and the folder's own name must be kept.
        assert!(folders.iter().all(|folder| folders.path(folder).ends_with(&folder.folder.name)));
    }
}
