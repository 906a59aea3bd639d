//! Visible rows of a tree, looked up by index.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use protocol::document::TITLE;
use protocol::{DocumentSummary, Folder, FolderId, ThreadId, ThreadSummary};

use super::{LiveTree, Scope};

/// Identity of a row, independent of its index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// The document of a scope.
    Document(Scope),
    /// A folder.
    Folder(FolderId),
    /// A thread.
    Thread(ThreadId),
    /// Content of a scope that is not loaded yet.
    More(Scope),
}

/// A visible row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow<'a> {
    /// Number of enclosing folders.
    pub depth: usize,
    /// Content of the row.
    pub kind: TreeRowKind<'a>,
}

/// Content of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeRowKind<'a> {
    /// A scope's `AGENTS.md`.
    Document(DocumentRow<'a>),
    /// A folder.
    Folder(FolderRow<'a>),
    /// A thread.
    Thread(&'a ThreadSummary),
    /// Content that is not loaded yet.
    More {
        /// Scope of the content.
        scope: &'a Scope,
        /// Number of threads.
        threads: u64,
        /// Number of folders.
        folders: u64,
    },
}

/// Row of a document. The document may not exist while an editor is open for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow<'a> {
    /// Scope of the document.
    pub scope: &'a Scope,
    /// State of the document.
    pub state: DocumentState,
    /// The document. `None` if only an editor is open.
    pub summary: Option<&'a DocumentSummary>,
    /// True if an editor is open.
    pub is_open: bool,
}

/// A row of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderRow<'a> {
    /// The folder.
    pub folder: &'a Folder,
    /// True if its content is visible.
    pub is_expanded: bool,
    /// True if it has, or may have, content.
    pub has_children: bool,
    /// State of the document that applies to the folder.
    pub state: DocumentState,
}

/// State of the document that applies to a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentState {
    /// The scope has a document with text.
    Active,
    /// The scope's document is blank, so the scope inherits.
    Draft,
    /// The scope has no document and inherits from this ancestor.
    Inherited(Scope),
    /// Neither the scope nor an ancestor has a document.
    Missing,
}

impl TreeRow<'_> {
    /// Returns the row's identity.
    pub fn key(&self) -> RowKey {
        match &self.kind {
            TreeRowKind::Document(row) => RowKey::Document(row.scope.clone()),
            TreeRowKind::Folder(row) => RowKey::Folder(row.folder.id.clone()),
            TreeRowKind::Thread(thread) => RowKey::Thread(thread.id.clone()),
            TreeRowKind::More { scope, .. } => RowKey::More((*scope).clone()),
        }
    }
}

/// Adjacent rows that are looked up together.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RunKind {
    Document,
    /// The folder of the scope itself.
    Folder,
    Threads,
    /// Threads that match the filter, by index among the place's threads.
    MatchingThreads(Vec<u32>),
    More,
}

#[derive(Debug, Clone)]
struct RowRun {
    /// Index of the first row.
    start: usize,
    depth: usize,
    scope: Scope,
    kind: RunKind,
}

/// All visible rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    runs: Vec<RowRun>,
    len: usize,
}

/// Places still to be arranged. A stack instead of recursion, because trees may be deep.
enum Waiting {
    /// Row of a folder and its content.
    Folder { id: FolderId, depth: usize, is_inside_match: bool },
    /// Threads of a place, which follow its folders.
    Threads { scope: Scope, depth: usize, is_match: bool },
}

impl Runs {
    /// Arranges the visible part of a tree: document, folders and threads of each expanded place.
    pub(super) fn of(tree: &LiveTree) -> Self {
        let filter = Filter::of(tree);
        let mut runs = Self::default();
        let mut waiting = Vec::new();
        runs.open(tree, filter.as_ref(), tree.top.clone(), 0, false, &mut waiting);
        while let Some(next) = waiting.pop() {
            match next {
                Waiting::Folder { id, depth, is_inside_match } => {
                    let scope = Some(id);
                    let Some(place) = tree.places.get(&scope) else { continue };
                    let name = place.folder.as_ref().map_or("", |folder| folder.name.as_str());
                    let is_match =
                        is_inside_match || filter.as_ref().is_some_and(|filter| filter.takes(name));
                    runs.push(1, depth, &scope, RunKind::Folder);
                    // A folder that matches is open or closed as the user left it. One that only contains a match opens
                    // to show it.
                    let is_open = match &filter {
                        Some(filter) if !is_match => filter.matches_inside.contains(&scope),
                        _ => place.is_expanded,
                    };
                    if is_open {
                        runs.open(tree, filter.as_ref(), scope, depth + 1, is_match, &mut waiting);
                    }
                }
                Waiting::Threads { scope, depth, is_match } => {
                    runs.close(tree, filter.as_ref().filter(|_| !is_match), &scope, depth);
                }
            }
        }
        runs
    }

    /// Adds the document of a place and queues its folders and threads.
    fn open(
        &mut self,
        tree: &LiveTree,
        filter: Option<&Filter>,
        scope: Scope,
        depth: usize,
        is_match: bool,
        waiting: &mut Vec<Waiting>,
    ) {
        let Some(place) = tree.places.get(&scope) else { return };
        let filter = filter.filter(|_| !is_match);
        let has_row = place.document.is_some() || tree.open_editors.contains(&scope);
        if has_row && filter.is_none_or(|filter| filter.takes(TITLE)) {
            self.push(1, depth, &scope, RunKind::Document);
        }
        // The stack is processed from its end, so the threads are pushed first to appear after the folders.
        waiting.push(Waiting::Threads { scope, depth, is_match });
        let shown = |id: &&FolderId| filter.is_none_or(|filter| filter.folders.contains(*id));
        waiting.extend(place.folders.iter().rev().filter(shown).map(|id| Waiting::Folder {
            id: id.clone(),
            depth,
            is_inside_match: is_match,
        }));
    }

    fn close(&mut self, tree: &LiveTree, filter: Option<&Filter>, scope: &Scope, depth: usize) {
        let Some(place) = tree.places.get(scope) else { return };
        match filter {
            None => self.push(place.threads.len(), depth, scope, RunKind::Threads),
            Some(filter) => {
                if let Some(matching) = filter.threads.get(scope) {
                    let kind = RunKind::MatchingThreads(matching.clone());
                    self.push(matching.len(), depth, scope, kind);
                }
            }
        }
        if place.missing_threads > 0 || !place.has_all_folders() {
            self.push(1, depth, scope, RunKind::More);
        }
    }

    fn push(&mut self, rows: usize, depth: usize, scope: &Scope, kind: RunKind) {
        if rows > 0 {
            self.runs.push(RowRun { start: self.len, depth, scope: scope.clone(), kind });
            self.len += rows;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    /// Returns the run of a row and the row's offset in it.
    fn find(&self, index: usize) -> Option<(&RowRun, usize)> {
        if index >= self.len {
            return None;
        }
        let after = self.runs.partition_point(|run| run.start <= index);
        let run = self.runs.get(after.checked_sub(1)?)?;
        Some((run, index - run.start))
    }

    /// Returns the scopes whose content is incomplete within these rows.
    pub(super) fn incomplete_in(&self, rows: Range<usize>) -> Vec<Scope> {
        // A `More` row is a run of one row, so runs that begin before the range cannot matter.
        let first = self.runs.partition_point(|run| run.start < rows.start);
        let seen = self.runs[first..].iter().take_while(|run| run.start < rows.end);
        seen.filter(|run| run.kind == RunKind::More).map(|run| run.scope.clone()).collect()
    }
}

/// Result of applying a filter.
struct Filter {
    text: String,
    /// Matching threads by scope.
    threads: BTreeMap<Scope, Vec<u32>>,
    /// Folders that match or contain a match.
    folders: BTreeSet<FolderId>,
    /// Scopes that contain a match at any depth.
    matches_inside: BTreeSet<Scope>,
}

impl Filter {
    fn of(tree: &LiveTree) -> Option<Self> {
        if tree.filter.is_empty() {
            return None;
        }
        let mut filter = Self {
            text: tree.filter.clone(),
            threads: tree.matches(),
            folders: BTreeSet::new(),
            matches_inside: BTreeSet::new(),
        };
        let takes_documents = filter.takes(TITLE);
        for (scope, place) in &tree.places {
            let has_row = place.document.is_some() || tree.open_editors.contains(scope);
            let has_match = filter.threads.contains_key(scope) || takes_documents && has_row;
            let is_match = place.folder.as_ref().is_some_and(|folder| filter.takes(&folder.name));
            if !has_match && !is_match {
                continue;
            }
            filter.folders.extend(scope.clone());
            if has_match {
                filter.matches_inside.insert(scope.clone());
            }
            // Ancestors of a match stay visible, because a match without its path could not be located.
            for above in tree.ancestors(scope).skip(1) {
                filter.folders.extend(above.scope());
                filter.matches_inside.insert(above.scope());
            }
        }
        Some(filter)
    }

    fn takes(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.text)
    }
}

impl LiveTree {
    /// Returns the visible row at an index.
    pub fn row(&self, index: usize) -> Option<TreeRow<'_>> {
        let (run, offset) = self.runs.find(index)?;
        let (scope, place) = self.places.get_key_value(&run.scope)?;
        let kind = match &run.kind {
            RunKind::Document => TreeRowKind::Document(DocumentRow {
                scope,
                state: self.document_state(scope),
                summary: place.document.as_ref(),
                is_open: self.open_editors.contains(scope),
            }),
            RunKind::Folder => TreeRowKind::Folder(FolderRow {
                folder: place.folder.as_ref()?,
                // A filter expands folders automatically, so compare depths instead of reading `is_expanded`.
                is_expanded: self.runs.find(index + 1).is_some_and(|(next, _)| next.depth > run.depth),
                has_children: place.has_children() || self.open_editors.contains(scope),
                state: self.document_state(scope),
            }),
            RunKind::Threads => TreeRowKind::Thread(place.threads.get(offset)?),
            RunKind::MatchingThreads(matching) => {
                TreeRowKind::Thread(place.threads.get(*matching.get(offset)? as usize)?)
            }
            RunKind::More => {
                let threads = place.missing_threads;
                TreeRowKind::More { scope, threads, folders: place.missing_folders }
            }
        };
        Some(TreeRow { depth: run.depth, kind })
    }

    /// Returns the index of a row. `None` if it is not visible.
    pub fn index_of(&self, key: &RowKey) -> Option<usize> {
        let scope = match key {
            RowKey::Document(scope) | RowKey::More(scope) => scope.clone(),
            RowKey::Folder(id) => Some(id.clone()),
            RowKey::Thread(id) => self.place_of(id)?.clone(),
        };
        let thread = match key {
            RowKey::Thread(id) => self.places.get(&scope)?.position(id).ok(),
            _ => None,
        };
        self.runs.runs.iter().filter(|run| run.scope == scope).find_map(|run| {
            let offset = match (&run.kind, key) {
                (RunKind::Document, RowKey::Document(_))
                | (RunKind::Folder, RowKey::Folder(_))
                | (RunKind::More, RowKey::More(_)) => 0,
                (RunKind::Threads, RowKey::Thread(_)) => thread?,
                (RunKind::MatchingThreads(matching), RowKey::Thread(_)) => {
                    matching.binary_search(&u32::try_from(thread?).ok()?).ok()?
                }
                _ => return None,
            };
            Some(run.start + offset)
        })
    }
}
