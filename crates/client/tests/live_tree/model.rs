//! An in-memory tree of one workspace, and its answers.

use std::collections::BTreeMap;
use std::time::Instant;

use client::{LiveTree, RowKey, Scope, TreeRequest, TreeRowKind};
use protocol::method::{ThreadListParams, ThreadListResult, ThreadTreeParams, ThreadTreeResult, TreeMore};
use protocol::notification::{DocumentChanged, TreeChange, TreeChanged};
use protocol::{
    ContentHash, DocumentStatus, DocumentSummary, Folder, FolderId, Placement, Sequence, Thread, ThreadId,
    ThreadMode, ThreadSummary, Timestamp, Version, WorkspaceId,
};

pub(crate) fn workspace() -> WorkspaceId {
    "w".parse().unwrap()
}

fn at() -> Timestamp {
    Timestamp::from_milliseconds(0)
}

#[derive(Debug, Clone)]
pub(crate) enum Event {
    Tree(TreeChanged),
    Document(DocumentChanged),
}

/// Answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Part(ThreadTreeParams, Option<ThreadTreeResult>),
    Page(ThreadListParams, Option<ThreadListResult>),
    Folder(FolderId, Option<Folder>),
    Thread(ThreadId, Option<Thread>),
}

#[derive(Debug, Default)]
pub(crate) struct Gateway {
    pub(crate) folders: BTreeMap<FolderId, Folder>,
    pub(crate) threads: BTreeMap<ThreadId, Thread>,
    pub(crate) documents: BTreeMap<Scope, DocumentSummary>,
    pub(crate) log: Vec<Event>,
    made: u64,
    /// Maximum number of threads of a place in an answer, whatever the request's limit.
    pub(crate) max_threads: usize,
}

impl Gateway {
    pub(crate) fn new(max_threads: usize) -> Self {
        Self { max_threads, ..Self::default() }
    }

    pub(crate) fn seq(&self) -> Sequence {
        Sequence(self.log.len() as u64)
    }

    fn next_id(&mut self) -> String {
        self.made += 1;
        format!("{:06}", self.made)
    }

    fn changed(&mut self, reason: TreeChange, folder_id: Option<FolderId>, thread_id: Option<ThreadId>) {
        let seq = Sequence(self.log.len() as u64 + 1);
        let change = TreeChanged { seq, workspace_id: workspace(), reason, folder_id, thread_id };
        self.log.push(Event::Tree(change));
    }

    pub(crate) fn make_folder(&mut self, parent_folder_id: Scope, name: &str) -> FolderId {
        let id: FolderId = self.next_id().parse().unwrap();
        let folder = Folder {
            id: id.clone(),
            workspace_id: workspace(),
            parent_folder_id,
            name: name.to_owned(),
            created_at: at(),
            updated_at: at(),
        };
        self.folders.insert(id.clone(), folder);
        self.changed(TreeChange::FolderCreated, Some(id.clone()), None);
        id
    }

    pub(crate) fn make_thread(&mut self, folder_id: Scope, title: &str) -> ThreadId {
        let id: ThreadId = self.next_id().parse().unwrap();
        let thread = Thread {
            id: id.clone(),
            workspace_id: workspace(),
            folder_id: folder_id.clone(),
            title: title.to_owned(),
            mode: ThreadMode::Chat,
            parent_thread_id: None,
            parent_turn_id: None,
            inherits_document: false,
            created_at: at(),
            updated_at: at(),
            archived_at: None,
        };
        self.threads.insert(id.clone(), thread);
        self.changed(TreeChange::ThreadCreated, folder_id, Some(id.clone()));
        id
    }

    pub(crate) fn rename_folder(&mut self, id: &FolderId, name: &str) {
        self.folders.get_mut(id).unwrap().name = name.to_owned();
        self.changed(TreeChange::FolderRenamed, Some(id.clone()), None);
    }

    /// Moves a folder, unless that would put it into itself.
    pub(crate) fn move_folder(&mut self, id: &FolderId, to: Scope) {
        let mut above = to.clone();
        while let Some(folder) = above {
            if folder == *id {
                return;
            }
            above = self.folders[&folder].parent_folder_id.clone();
        }
        self.folders.get_mut(id).unwrap().parent_folder_id = to;
        self.changed(TreeChange::FolderMoved, Some(id.clone()), None);
    }

    pub(crate) fn delete_folder(&mut self, id: &FolderId) {
        let folder = self.folders.remove(id).unwrap();
        // Deleting a folder moves its content to its parent, as in the gateway.
        for child in self.folders.values_mut().filter(|child| child.parent_folder_id.as_ref() == Some(id)) {
            child.parent_folder_id.clone_from(&folder.parent_folder_id);
        }
        for thread in self.threads.values_mut().filter(|thread| thread.folder_id.as_ref() == Some(id)) {
            thread.folder_id.clone_from(&folder.parent_folder_id);
        }
        if self.documents.contains_key(&Some(id.clone())) {
            self.archive_document(&Some(id.clone()));
        }
        self.changed(TreeChange::FolderDeleted, Some(id.clone()), None);
    }

    pub(crate) fn rename_thread(&mut self, id: &ThreadId, title: &str) {
        self.threads.get_mut(id).unwrap().title = title.to_owned();
        self.changed(TreeChange::ThreadRenamed, None, Some(id.clone()));
    }

    pub(crate) fn move_thread(&mut self, id: &ThreadId, to: Scope) {
        self.threads.get_mut(id).unwrap().folder_id = to;
        self.changed(TreeChange::ThreadMoved, None, Some(id.clone()));
    }

    pub(crate) fn archive_thread(&mut self, id: &ThreadId) {
        self.threads.remove(id).unwrap();
        self.changed(TreeChange::ThreadArchived, None, Some(id.clone()));
    }

    pub(crate) fn save_document(&mut self, scope: &Scope, status: DocumentStatus) {
        let summary = DocumentSummary {
            id: self.next_id().parse().unwrap(),
            workspace_id: workspace(),
            folder_id: scope.clone(),
            status,
            content_sha256: ContentHash::of(""),
            version: Version(self.made),
            char_count: 0,
            updated_at: at(),
        };
        self.documents.insert(scope.clone(), summary.clone());
        self.document_changed(scope, Some(summary));
    }

    pub(crate) fn archive_document(&mut self, scope: &Scope) {
        if self.documents.remove(scope).is_some() {
            self.document_changed(scope, None);
        }
    }

    fn document_changed(&mut self, scope: &Scope, summary: Option<DocumentSummary>) {
        let seq = Sequence(self.log.len() as u64 + 1);
        let workspace_id = workspace();
        let folder_id = scope.clone();
        let change = DocumentChanged { seq, workspace_id, folder_id, summary, effective_changed: true };
        self.log.push(Event::Document(change));
        // The gateway also logs a change of the tree, which the client must ignore.
        self.changed(TreeChange::AgentsDoc, scope.clone(), None);
    }

    fn exists(&self, scope: &Scope) -> bool {
        scope.as_ref().is_none_or(|id| self.folders.contains_key(id))
    }

    fn folders_in(&self, scope: &Scope) -> Vec<Folder> {
        self.folders.values().filter(|folder| folder.parent_folder_id == *scope).cloned().collect()
    }

    fn threads_in(&self, scope: &Scope) -> Vec<ThreadSummary> {
        let here = self.threads.values().filter(|thread| thread.folder_id == *scope);
        here.map(|thread| ThreadSummary {
            id: thread.id.clone(),
            title: thread.title.clone(),
            mode: thread.mode,
            created_at: at(),
            updated_at: at(),
            parent_thread_id: None,
            parent_turn_id: None,
        })
        .collect()
    }

    pub(crate) fn answer(&self, request: TreeRequest) -> Answer {
        match request {
            TreeRequest::Part(params) => {
                let part = self.exists(&params.folder_id).then(|| self.part(&params));
                Answer::Part(params, part)
            }
            TreeRequest::Page(params) => {
                let page = self.exists(&params.folder_id).then(|| self.page(&params));
                Answer::Page(params, page)
            }
            TreeRequest::Folder(params) => {
                let folder = self.folders.get(&params.folder_id).cloned();
                Answer::Folder(params.folder_id, folder)
            }
            TreeRequest::Thread(params) => {
                let thread = self.threads.get(&params.thread_id).cloned();
                Answer::Thread(params.thread_id, thread)
            }
        }
    }

    /// Returns one level of the tree, as the tree requests it.
    fn part(&self, params: &ThreadTreeParams) -> ThreadTreeResult {
        assert_eq!(params.depth, Some(1));
        let folders = self.folders_in(&params.folder_id);
        let mut places: Vec<Scope> = vec![params.folder_id.clone()];
        places.extend(folders.iter().map(|folder| Some(folder.id.clone())));
        let limit = self.max_threads.min(params.thread_limit.unwrap() as usize);
        let mut threads = Vec::new();
        let mut placements = Vec::new();
        let mut more = Vec::new();
        for scope in &places {
            let mut here = self.threads_in(scope);
            let missing = here.len().saturating_sub(limit) as u64;
            here.truncate(limit);
            if let Some(folder_id) = scope {
                let place = |thread: &ThreadSummary| Placement {
                    thread_id: thread.id.clone(),
                    folder_id: folder_id.clone(),
                };
                placements.extend(here.iter().map(place));
            }
            threads.extend(here);
            // A part lists the folders of its own level and only counts those below them.
            let below = if *scope == params.folder_id { 0 } else { self.folders_in(scope).len() as u64 };
            if missing + below > 0 {
                more.push(TreeMore { folder_id: scope.clone(), threads: missing, folders: below });
            }
        }
        threads.sort_by(|a, b| a.id.cmp(&b.id));
        let agents_docs = places.iter().filter_map(|scope| self.documents.get(scope).cloned()).collect();
        ThreadTreeResult {
            workspace_id: workspace(),
            seq: self.seq(),
            folders,
            threads,
            placements,
            agents_docs,
            more,
        }
    }

    fn page(&self, params: &ThreadListParams) -> ThreadListResult {
        let mut threads = self.threads_in(&params.folder_id);
        threads.retain(|thread| Some(&thread.id) > params.after.as_ref());
        let limit = self.max_threads.min(params.limit as usize);
        let is_last = threads.len() <= limit;
        threads.truncate(limit);
        let next = threads.last().filter(|_| !is_last).map(|thread| thread.id.clone());
        ThreadListResult { threads, next }
    }

    /// Returns the rows of the fully expanded tree.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        self.rows_in(&None, 0, &mut rows);
        rows
    }

    fn rows_in(&self, scope: &Scope, depth: usize, rows: &mut Vec<String>) {
        let indent = " ".repeat(depth);
        if let Some(document) = self.documents.get(scope) {
            rows.push(format!("{indent}AGENTS.md {:?}", document.status));
        }
        let mut folders = self.folders_in(scope);
        folders.sort_by_key(|folder| (folder.name.to_lowercase(), folder.id.clone()));
        for folder in folders {
            rows.push(format!("{indent}{}/", folder.name));
            self.rows_in(&Some(folder.id), depth + 1, rows);
        }
        rows.extend(self.threads_in(scope).into_iter().map(|thread| format!("{indent}{}", thread.title)));
    }
}

pub(crate) fn take(tree: &mut LiveTree, answer: Answer) {
    match answer {
        Answer::Part(params, Some(part)) => tree.part_loaded(&params, part),
        Answer::Page(params, Some(page)) => tree.page_loaded(&params, page),
        // The folder is gone, and so is the request for it.
        Answer::Part(params, None) => tree.place_gone(&TreeRequest::Part(params)),
        Answer::Page(params, None) => tree.place_gone(&TreeRequest::Page(params)),
        Answer::Folder(id, folder) => tree.folder_loaded(&id, folder),
        Answer::Thread(id, thread) => tree.thread_loaded(&id, thread),
    }
}

pub(crate) fn announce(tree: &mut LiveTree, event: &Event) {
    match event {
        Event::Tree(change) => tree.tree_changed(change),
        Event::Document(change) => tree.document_changed(change),
    }
}

/// Answers all requests of a tree.
pub(crate) fn serve(tree: &mut LiveTree, gateway: &Gateway) {
    while let Some(request) = tree.poll(Instant::now()) {
        take(tree, gateway.answer(request));
    }
}

pub(crate) fn drawn(tree: &LiveTree) -> Vec<String> {
    let rows = (0..tree.len()).map(|index| {
        let row = tree.row(index).unwrap();
        assert_eq!(tree.index_of(&row.key()), Some(index), "{row:?}");
        let indent = " ".repeat(row.depth);
        match row.kind {
            TreeRowKind::Document(row) => match row.summary {
                Some(summary) => format!("{indent}AGENTS.md {:?}", summary.status),
                None => format!("{indent}AGENTS.md {:?}", row.state),
            },
            TreeRowKind::Folder(row) => format!("{indent}{}/", row.folder.name),
            TreeRowKind::Thread(thread) => format!("{indent}{}", thread.title),
            TreeRowKind::More { threads, .. } => format!("{indent}+{threads}"),
        }
    });
    rows.collect()
}

/// Expands every folder and loads every page.
pub(crate) fn open_all(tree: &mut LiveTree, gateway: &Gateway) {
    // The limit turns a tree that never finishes loading into a failure.
    for _ in 0..10_000 {
        serve(tree, gateway);
        let closed: Vec<FolderId> = (0..tree.len())
            .filter_map(|index| match tree.row(index)?.kind {
                TreeRowKind::Folder(row) if !row.is_expanded => Some(row.folder.id.clone()),
                _ => None,
            })
            .collect();
        let expanded: Vec<FolderId> = tree.expanded().cloned().collect();
        let to_open: Vec<&FolderId> = closed.iter().filter(|id| !expanded.contains(id)).collect();
        let has_more = (0..tree.len()).any(|index| matches!(tree.row(index).unwrap().key(), RowKey::More(_)));
        if to_open.is_empty() && !has_more {
            return;
        }
        to_open.into_iter().for_each(|id| tree.expand(id));
        tree.shown(0..tree.len());
    }
    panic!("there is always more: {:?}", drawn(tree));
}
