//! The visible rows of a tree, found by their index.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use protocol::document::TITLE;
use protocol::{DocumentSummary, Folder, FolderId, ThreadId, ThreadSummary};

use super::{LiveTree, Scope};

/// What a row is of, whatever its index is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// The document of a scope.
    Document(Scope),
    /// A folder.
    Folder(FolderId),
    /// A thread.
    Thread(ThreadId),
    /// What is not loaded yet of a scope.
    More(Scope),
}

/// One visible row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow<'a> {
    /// How many folders it is in.
    pub depth: usize,
    /// What it is of.
    pub kind: TreeRowKind<'a>,
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeRowKind<'a> {
    /// A scope's `AGENTS.md`.
    Document(DocumentRow<'a>),
    /// A folder.
    Folder(FolderRow<'a>),
    /// A thread.
    Thread(&'a ThreadSummary),
    /// Something that is not loaded yet.
    More {
        /// Whose content it is.
        scope: &'a Scope,
        /// How many threads.
        threads: u64,
    },
}

/// A row of a document, which may not exist while an editor is open for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// What counts there.
    pub state: DocumentState,
    /// The document; none where only an editor is open.
    pub summary: Option<&'a DocumentSummary>,
    /// Whether an editor is open for it.
    pub is_open: bool,
}

/// A row of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderRow<'a> {
    /// The folder.
    pub folder: &'a Folder,
    /// Whether its content has rows.
    pub is_expanded: bool,
    /// Whether there is, or may be, something in it.
    pub has_children: bool,
    /// Where its instructions come from.
    pub state: DocumentState,
}

/// What a scope's document counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentState {
    /// It has a document with text.
    Active,
    /// It has a document that is only white space, and so inherits.
    Draft,
    /// It has none, and the one of this scope above it counts.
    Inherited(Scope),
    /// It has none, and there is none above it.
    Missing,
}

impl TreeRow<'_> {
    /// What the row is of.
    pub fn key(&self) -> RowKey {
        match &self.kind {
            TreeRowKind::Document(row) => RowKey::Document(row.scope.clone()),
            TreeRowKind::Folder(row) => RowKey::Folder(row.folder.id.clone()),
            TreeRowKind::Thread(thread) => RowKey::Thread(thread.id.clone()),
            TreeRowKind::More { scope, .. } => RowKey::More((*scope).clone()),
        }
    }
}

/// Rows that follow each other and are found together.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RunKind {
    Document,
    /// The folder of the scope itself.
    Folder,
    Threads,
    /// Threads that a filter leaves, by their index among all of the place.
    MatchingThreads(Vec<u32>),
    More,
}

#[derive(Debug, Clone)]
struct Run {
    /// The index of its first row.
    start: usize,
    depth: usize,
    scope: Scope,
    kind: RunKind,
}

/// All visible rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    len: usize,
}

/// What is still to be arranged; a stack instead of recursion, because trees may be deep.
enum Waiting {
    /// A folder's row and what is in it.
    Folder { id: FolderId, depth: usize, is_inside_match: bool },
    /// What comes after the folders of a place: its threads.
    Threads { scope: Scope, depth: usize, is_match: bool },
}

impl Runs {
    /// Arranges what can be seen of a tree: document, folders, threads of each place that is open.
    pub(super) fn of(tree: &LiveTree) -> Self {
        let filter = Filter::of(tree);
        let mut runs = Self::default();
        let mut waiting = Vec::new();
        runs.open(tree, filter.as_ref(), None, 0, false, &mut waiting);
        while let Some(next) = waiting.pop() {
            match next {
                Waiting::Folder { id, depth, is_inside_match } => {
                    let scope = Some(id);
                    let Some(place) = tree.places.get(&scope) else { continue };
                    let name = place.folder.as_ref().map_or("", |folder| folder.name.as_str());
                    let is_match =
                        is_inside_match || filter.as_ref().is_some_and(|filter| filter.takes(name));
                    runs.push(1, depth, &scope, RunKind::Folder);
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

    /// A place's document now, its folders and threads later.
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
            self.runs.push(Run { start: self.len, depth, scope: scope.clone(), kind });
            self.len += rows;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    /// The run that a row is in, and which of its rows it is.
    fn find(&self, index: usize) -> Option<(&Run, usize)> {
        if index >= self.len {
            return None;
        }
        let after = self.runs.partition_point(|run| run.start <= index);
        let run = self.runs.get(after.checked_sub(1)?)?;
        Some((run, index - run.start))
    }

    /// The scopes that are not whole among these rows.
    pub(super) fn left_out_in(&self, rows: Range<usize>) -> Vec<Scope> {
        let first = self.runs.partition_point(|run| run.start < rows.start);
        let seen = self.runs[first..].iter().take_while(|run| run.start < rows.end);
        seen.filter(|run| run.kind == RunKind::More).map(|run| run.scope.clone()).collect()
    }
}

/// What a filter leaves.
struct Filter {
    text: String,
    /// Matching threads by place.
    threads: BTreeMap<Scope, Vec<u32>>,
    /// Folders that match or have a match inside.
    folders: BTreeSet<FolderId>,
    /// Places that have a match inside, however deep.
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
    /// A visible row.
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
                // A filter opens folders by itself.
                is_expanded: self.runs.find(index + 1).is_some_and(|(next, _)| next.depth > run.depth),
                has_children: place.has_children() || self.open_editors.contains(scope),
                state: self.document_state(scope),
            }),
            RunKind::Threads => TreeRowKind::Thread(place.threads.get(offset)?),
            RunKind::MatchingThreads(matching) => {
                TreeRowKind::Thread(place.threads.get(*matching.get(offset)? as usize)?)
            }
            RunKind::More => TreeRowKind::More { scope, threads: place.missing_threads },
        };
        Some(TreeRow { depth: run.depth, kind })
    }

    /// Where the row of something is; none while it is not visible.
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
