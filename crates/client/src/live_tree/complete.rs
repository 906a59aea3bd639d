//! A tree that is read from one answer and not changed.

use protocol::method::{ThreadTreeParams, ThreadTreeResult};
use protocol::{DeletedFolder, Folder, FolderId, ThreadSummary};

use super::place::Place;
use super::{LiveTree, Scope, TreeRow};

impl LiveTree {
    /// Creates the tree of one answer to `thread/tree`, below the folder that was requested. All folders are expanded.
    pub fn of(answer: ThreadTreeResult, top: Scope) -> Self {
        let params = ThreadTreeParams {
            folder_id: top.clone(),
            ..ThreadTreeParams::whole(answer.workspace_id.clone())
        };
        let mut tree = Self::new(answer.workspace_id.clone());
        // The answer contains what is below the requested folder, but not the folder itself.
        tree.places.entry(top.clone()).or_insert_with(Place::root);
        tree.top = top;
        tree.take_part(&params, answer);
        tree.places.values_mut().for_each(|place| place.is_expanded = true);
        tree.arrange();
        tree
    }

    /// Adds deleted folders, so that they have a path. They have no rows.
    pub fn add_deleted(&mut self, folders: &[DeletedFolder]) {
        folders.iter().for_each(|deleted| self.put_folder(deleted.folder.clone()));
    }

    /// Iterates over all rows.
    pub fn rows(&self) -> impl Iterator<Item = TreeRow<'_>> {
        (0..self.len()).filter_map(|index| self.row(index))
    }

    /// Iterates over all loaded folders.
    pub fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.places.values().filter_map(|place| place.folder.as_ref())
    }

    /// Iterates over all loaded threads with their folder, or `None` for the workspace root.
    pub fn threads(&self) -> impl Iterator<Item = (&ThreadSummary, Option<&FolderId>)> {
        self.places.iter().flat_map(|(scope, place)| place.threads.iter().map(move |it| (it, scope.as_ref())))
    }

    /// Returns a folder's path joined by `/`.
    pub fn folder_path(&self, id: &FolderId) -> String {
        self.path(&Some(id.clone())).join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreeRowKind;
    use protocol::method::TreeMore;
    use protocol::{Placement, Sequence, ThreadMode, Timestamp};

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

    fn thread(id: &str) -> ThreadSummary {
        ThreadSummary {
            id: id.parse().unwrap(),
            title: id.to_owned(),
            mode: ThreadMode::Chat,
            created_at: Timestamp::from_milliseconds(0),
            updated_at: Timestamp::from_milliseconds(0),
            parent_thread_id: None,
            parent_turn_id: None,
        }
    }

    fn answer(folders: Vec<Folder>) -> ThreadTreeResult {
        ThreadTreeResult {
            workspace_id: "w".parse().unwrap(),
            seq: Sequence(1),
            folders,
            threads: vec![thread("t1"), thread("t2")],
            placements: vec![Placement { thread_id: "t2".parse().unwrap(), folder_id: "2".parse().unwrap() }],
            agents_docs: vec![],
            more: vec![TreeMore { folder_id: Some("2".parse().unwrap()), threads: 3, folders: 1 }],
        }
    }

    fn drawn(tree: &LiveTree) -> Vec<String> {
        let line = |row: TreeRow<'_>| match row.kind {
            TreeRowKind::Folder(folder) => format!("{}{}/", " ".repeat(row.depth), folder.folder.name),
            TreeRowKind::Thread(thread) => format!("{}{}", " ".repeat(row.depth), thread.title),
            TreeRowKind::Document(_) => format!("{}AGENTS.md", " ".repeat(row.depth)),
            TreeRowKind::More { threads, folders, .. } => {
                format!("{}+{threads}+{folders}", " ".repeat(row.depth))
            }
        };
        tree.rows().map(line).collect()
    }

    #[test]
    fn rows_are_in_drawing_order() {
        let folders = vec![
            folder("2", Some("1"), "api"),
            folder("1", None, "services"),
            folder("3", Some("1"), "api"),
            folder("4", None, "docs"),
        ];
        let tree = LiveTree::of(answer(folders), None);
        assert_eq!(drawn(&tree), ["docs/", "services/", " api/", "  t2", "  +3+1", " api/", "t1"]);
        assert_eq!(tree.folder_path(&"3".parse().unwrap()), "services/api");
    }

    #[test]
    fn rows_start_below_the_requested_folder() {
        let mut answer = answer(vec![folder("2", Some("1"), "api")]);
        answer.threads.remove(0);
        assert_eq!(drawn(&LiveTree::of(answer, Some("1".parse().unwrap()))), ["api/", " t2", " +3+1"]);
    }

    #[test]
    fn deleted_folders_keep_their_path() {
        let mut tree = LiveTree::of(answer(vec![folder("1", None, "services")]), None);
        let rows = tree.len();
        tree.add_deleted(&[deleted("3", Some("2"), "v1"), deleted("2", Some("1"), "api")]);
        let path = |id: &str| tree.folder_path(&id.parse().unwrap());
        assert_eq!([path("3"), path("2")], ["services/api/v1", "services/api"]);
        assert_eq!(tree.len(), rows);
    }

    #[test]
    fn a_cycle_of_parents_ends_the_path() {
        let mut tree = LiveTree::of(answer(vec![]), None);
        tree.add_deleted(&[deleted("1", Some("2"), "a"), deleted("2", Some("1"), "b")]);
        // Contradictory data has no correct path. The walk must end, and the folder's own name must be kept.
        assert!(tree.folder_path(&"1".parse().unwrap()).ends_with('a'));
        assert!(tree.folder_path(&"2".parse().unwrap()).ends_with('b'));
    }
}
