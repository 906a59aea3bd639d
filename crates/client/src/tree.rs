//! A complete thread tree: folders, threads and documents by scope.

use std::collections::HashMap;

use protocol::method::{ThreadTreeResult, TreeMore};
use protocol::{DocumentSummary, Folder, FolderId, ThreadSummary};

/// An arranged thread tree.
#[derive(Debug, Clone)]
pub struct TreeModel {
    folders: HashMap<FolderId, Folder>,
    children: HashMap<Option<FolderId>, Vec<FolderId>>,
    threads: HashMap<Option<FolderId>, Vec<ThreadSummary>>,
    documents: HashMap<Option<FolderId>, DocumentSummary>,
    more: HashMap<Option<FolderId>, TreeMore>,
}

/// A line of a drawn tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNode<'a> {
    /// The scope's document.
    Document(&'a DocumentSummary),
    /// A folder.
    Folder(&'a Folder),
    /// A thread.
    Thread(&'a ThreadSummary),
    /// Count of omitted items.
    More(&'a TreeMore),
}

impl From<ThreadTreeResult> for TreeModel {
    fn from(tree: ThreadTreeResult) -> Self {
        let placed: HashMap<_, _> =
            tree.placements.into_iter().map(|placement| (placement.thread_id, placement.folder_id)).collect();
        let mut children: HashMap<Option<FolderId>, Vec<FolderId>> = HashMap::new();
        let mut folders = HashMap::new();
        let mut ordered = tree.folders;
        // Names may repeat within a folder, so the id keeps the order stable from one call to the next.
        ordered.sort_by(|a, b| a.name.to_lowercase().cmp(&b.name.to_lowercase()).then(a.id.cmp(&b.id)));
        for folder in ordered {
            children.entry(folder.parent_folder_id.clone()).or_default().push(folder.id.clone());
            folders.insert(folder.id.clone(), folder);
        }
        let mut threads: HashMap<Option<FolderId>, Vec<ThreadSummary>> = HashMap::new();
        for thread in tree.threads {
            threads.entry(placed.get(&thread.id).cloned()).or_default().push(thread);
        }
        let documents = tree.agents_docs.into_iter().map(|doc| (doc.folder_id.clone(), doc)).collect();
        let more = tree.more.into_iter().map(|more| (more.folder_id.clone(), more)).collect();
        Self { folders, children, threads, documents, more }
    }
}

impl TreeModel {
    /// Returns a folder by id.
    pub fn folder(&self, id: &FolderId) -> Option<&Folder> {
        self.folders.get(id)
    }

    /// Returns the names of the folders down to this one, joined by `/`.
    pub fn path(&self, id: &FolderId) -> String {
        let mut names = Vec::new();
        let mut next = self.folders.get(id);
        while let Some(folder) = next {
            names.push(folder.name.as_str());
            next = folder.parent_folder_id.as_ref().and_then(|parent| self.folders.get(parent));
        }
        names.reverse();
        names.join("/")
    }

    /// Returns all folders with this path. Several folders can match because names may repeat.
    pub fn find(&self, path: &str) -> Vec<&Folder> {
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        if names.peek().is_none() {
            return Vec::new();
        }
        // Siblings may share a name, so every step continues with all folders that match so far.
        let mut places: Vec<Option<&Folder>> = vec![None];
        for name in names {
            places = places
                .into_iter()
                .flat_map(|place| self.children_of(place.map(|folder| &folder.id)))
                .filter(|folder| folder.name == name)
                .map(Some)
                .collect();
        }
        places.into_iter().flatten().collect()
    }

    /// Iterates over all threads with their folder, or `None` for the workspace root.
    pub fn threads(&self) -> impl Iterator<Item = (&ThreadSummary, Option<&FolderId>)> {
        self.threads.iter().flat_map(|(place, threads)| threads.iter().map(move |it| (it, place.as_ref())))
    }

    /// Iterates over all folders.
    pub fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.folders.values()
    }

    /// Returns all nodes with their depth, in drawing order: document, folders, threads.
    pub fn nodes(&self) -> Vec<(usize, TreeNode<'_>)> {
        self.nodes_in(None)
    }

    /// Returns the nodes below a folder, or below the workspace root for `None`.
    pub fn nodes_in(&self, folder_id: Option<&FolderId>) -> Vec<(usize, TreeNode<'_>)> {
        let mut nodes = Vec::new();
        let mut waiting = Vec::new();
        self.push_place(folder_id, 0, &mut nodes, &mut waiting);
        while let Some((depth, folder)) = waiting.pop() {
            match folder {
                Waiting::Folder(folder) => {
                    nodes.push((depth, TreeNode::Folder(folder)));
                    self.push_place(Some(&folder.id), depth + 1, &mut nodes, &mut waiting);
                }
                Waiting::Thread(thread) => nodes.push((depth, TreeNode::Thread(thread))),
                Waiting::More(more) => nodes.push((depth, TreeNode::More(more))),
            }
        }
        nodes
    }

    fn push_place<'a>(
        &'a self,
        place: Option<&FolderId>,
        depth: usize,
        nodes: &mut Vec<(usize, TreeNode<'a>)>,
        waiting: &mut Vec<(usize, Waiting<'a>)>,
    ) {
        let place = place.cloned();
        nodes.extend(self.documents.get(&place).map(|document| (depth, TreeNode::Document(document))));
        // The stack is emptied from its end, so everything is pushed in reverse: omitted items first and folders
        // last.
        waiting.extend(self.more.get(&place).map(|more| (depth, Waiting::More(more))));
        let threads = self.threads.get(&place).into_iter().flatten();
        waiting.extend(threads.rev().map(|thread| (depth, Waiting::Thread(thread))));
        let mut folders: Vec<&Folder> = self.children_of(place.as_ref()).collect();
        folders.reverse();
        waiting.extend(folders.into_iter().map(|folder| (depth, Waiting::Folder(folder))));
    }

    fn children_of(&self, place: Option<&FolderId>) -> impl Iterator<Item = &Folder> {
        self.children.get(&place.cloned()).into_iter().flatten().filter_map(|id| self.folders.get(id))
    }
}

/// Nodes still to be drawn. A stack instead of recursion, because trees may be deep.
enum Waiting<'a> {
    Folder(&'a Folder),
    Thread(&'a ThreadSummary),
    More(&'a TreeMore),
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Placement, Sequence, ThreadId, ThreadMode, Timestamp, WorkspaceId};

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

    fn sample() -> TreeModel {
        let placement = |thread: &str, folder: &str| Placement {
            thread_id: thread.parse::<ThreadId>().unwrap(),
            folder_id: folder.parse().unwrap(),
        };
        TreeModel::from(ThreadTreeResult {
            workspace_id: "w".parse::<WorkspaceId>().unwrap(),
            seq: Sequence(9),
            folders: vec![
                folder("2", Some("1"), "api"),
                folder("1", None, "services"),
                folder("3", Some("1"), "api"),
                folder("4", None, "docs"),
            ],
            threads: vec![thread("t1"), thread("t2")],
            placements: vec![placement("t2", "2")],
            agents_docs: vec![],
            more: vec![TreeMore { folder_id: Some("2".parse().unwrap()), threads: 3, folders: 0 }],
        })
    }

    #[test]
    fn nodes_are_in_drawing_order() {
        let tree = sample();
        let drawn: Vec<String> = tree
            .nodes()
            .into_iter()
            .map(|(depth, node)| match node {
                TreeNode::Folder(folder) => format!("{}{}/", " ".repeat(depth), folder.name),
                TreeNode::Thread(thread) => format!("{}{}", " ".repeat(depth), thread.title),
                TreeNode::Document(_) => format!("{}AGENTS.md", " ".repeat(depth)),
                TreeNode::More(more) => format!("{}+{}", " ".repeat(depth), more.threads),
            })
            .collect();
        assert_eq!(drawn, ["docs/", "services/", " api/", "  t2", "  +3", " api/", "t1"]);
    }

    #[test]
    fn a_path_finds_all_folders_of_that_name() {
        let tree = sample();
        assert_eq!(tree.find("services").len(), 1);
        assert_eq!(tree.find("services/api").len(), 2);
        assert_eq!(tree.find("/services/api/").len(), 2);
        assert!(tree.find("api").is_empty() && tree.find("").is_empty());
        assert_eq!(tree.path(&"3".parse().unwrap()), "services/api");
    }
}
