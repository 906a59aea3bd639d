//! The thread tree of a workspace, as a sidebar shows it while others change it.
//!
//! The tree is pure: its owner feeds it parts of the tree and notifications, [`LiveTree::poll`] returns the next request,
//! and visible rows are looked up by index. All threads of a folder form one run of rows, so a change costs as much as the
//! number of visible folders, not the number of threads.
//!
//! A program that needs a tree only once creates it with [`LiveTree::of`] from a single answer.

mod complete;
mod events;
mod failures;
mod fetching;
mod place;
mod placement;
mod rows;
mod selection;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use protocol::{DocumentStatus, DocumentSummary, Folder, FolderId, Sequence, ThreadId, WorkspaceId};

pub use fetching::TreeRequest;
pub use rows::{DocumentRow, DocumentState, FolderRow, RowKey, TreeRow, TreeRowKind};

use place::Place;
use rows::Runs;

/// A scope with its own document: a folder, or `None` for the workspace root.
pub type Scope = Option<FolderId>;

/// The known part of a workspace's tree.
#[derive(Debug, Clone)]
pub struct LiveTree {
    workspace_id: WorkspaceId,
    /// Scope of the first row.
    top: Scope,
    places: HashMap<Scope, Place>,
    thread_places: HashMap<ThreadId, Scope>,
    /// Newest change contained in the first part.
    seq: Option<Sequence>,
    /// Newest announced change of folders or threads.
    newest_change: Sequence,
    fetching: fetching::Fetching,
    open_editors: BTreeSet<Scope>,
    filter: String,
    selected: Option<RowKey>,
    runs: Runs,
}

impl LiveTree {
    /// Creates an empty tree that loads its root first.
    pub fn new(workspace_id: WorkspaceId) -> Self {
        let mut tree = Self {
            workspace_id,
            top: None,
            places: HashMap::from([(None, Place::root())]),
            thread_places: HashMap::new(),
            seq: None,
            newest_change: Sequence(0),
            fetching: fetching::Fetching::default(),
            open_editors: BTreeSet::new(),
            filter: String::new(),
            selected: None,
            runs: Runs::default(),
        };
        // Only the root is requested. Deeper places follow when the user expands them.
        tree.fetching.want_part(None);
        tree
    }

    /// Returns the workspace's id.
    pub fn workspace_id(&self) -> &WorkspaceId {
        &self.workspace_id
    }

    /// Returns true once the first part has been loaded.
    pub fn is_loaded(&self) -> bool {
        self.seq.is_some()
    }

    /// Returns the newest change in the first part. Subscribe to the workspace from here.
    pub fn seq(&self) -> Option<Sequence> {
        self.seq
    }

    /// Returns a loaded folder.
    pub fn folder(&self, id: &FolderId) -> Option<&Folder> {
        self.places.get(&Some(id.clone()))?.folder.as_ref()
    }

    /// Returns the names of the folders down to a scope, root first.
    pub fn path(&self, scope: &Scope) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.ancestors(scope).filter_map(|place| Some(place.folder.as_ref()?.name.as_str())).collect();
        names.reverse();
        names
    }

    /// Returns the scope's own document, if one is known.
    pub fn document(&self, scope: &Scope) -> Option<&DocumentSummary> {
        self.places.get(scope)?.document.as_ref()
    }

    /// Returns the scope of a thread. `None` if the thread is not loaded.
    pub fn place_of(&self, thread_id: &ThreadId) -> Option<&Scope> {
        self.thread_places.get(thread_id)
    }

    /// Returns the state of the document that applies to a scope.
    pub fn document_state(&self, scope: &Scope) -> DocumentState {
        match self.document(scope).map(|document| document.status) {
            Some(DocumentStatus::Active) => DocumentState::Active,
            Some(DocumentStatus::Draft) => DocumentState::Draft,
            Some(DocumentStatus::Archived) | None => match self.inherits_from(scope) {
                Some(source) => DocumentState::Inherited(source),
                None => DocumentState::Missing,
            },
        }
    }

    /// Returns the nearest ancestor scope with an active document.
    pub fn inherits_from(&self, scope: &Scope) -> Option<Scope> {
        // The scope itself comes first among its ancestors, and its own document is not inherited.
        let above = self.ancestors(scope).skip(1);
        let mut active = above.filter(|place| {
            place.document.as_ref().is_some_and(|document| document.status == DocumentStatus::Active)
        });
        active.next().map(Place::scope)
    }

    /// Opens an editor for a scope. The scope then has a row even without a document.
    pub fn open_editor(&mut self, scope: Scope) {
        self.open_editors.insert(scope);
        self.arrange();
    }

    /// Closes the editor of a scope.
    pub fn close_editor(&mut self, scope: &Scope) {
        self.open_editors.remove(scope);
        self.arrange();
    }

    /// Expands a folder.
    pub fn expand(&mut self, id: &FolderId) {
        self.set_expanded(id, true);
    }

    /// Collapses a folder.
    pub fn collapse(&mut self, id: &FolderId) {
        self.set_expanded(id, false);
    }

    /// Expands or collapses a folder.
    pub fn toggle(&mut self, id: &FolderId) {
        let is_expanded = self.places.get(&Some(id.clone())).is_some_and(|place| place.is_expanded);
        self.set_expanded(id, !is_expanded);
    }

    /// Iterates over the expanded folders, so that they can be restored on the next start.
    pub fn expanded(&self) -> impl Iterator<Item = &FolderId> {
        self.places.iter().filter(|(_, place)| place.is_expanded).filter_map(|(scope, _)| scope.as_ref())
    }

    fn set_expanded(&mut self, id: &FolderId, is_expanded: bool) {
        let scope = Some(id.clone());
        let Some(place) = self.places.get_mut(&scope) else { return };
        place.is_expanded = is_expanded;
        // The part of the parent contains the threads and the document of a folder but only the number of its
        // folders, so expanding a folder may need a request.
        if is_expanded && !place.has_all_folders() {
            self.fetching.want_part(scope);
        }
        self.arrange();
    }

    /// Shows only rows whose name contains `filter`, and their ancestors. An empty filter shows all rows.
    pub fn set_filter(&mut self, filter: &str) {
        self.filter = filter.trim().to_lowercase();
        if !self.filter.is_empty() {
            self.want_everything();
        }
        self.arrange();
    }

    /// Returns the filter in lower case; empty if there is none.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of runs. Looking up a row costs a search among the runs.
    pub fn run_count(&self) -> usize {
        self.runs.count()
    }

    /// Requests missing content of the rows on the screen.
    pub fn shown(&mut self, rows: Range<usize>) {
        for scope in self.runs.incomplete_in(rows) {
            let Some(place) = self.places.get(&scope) else { continue };
            if place.missing_threads > 0 {
                self.fetching.want_page(scope);
            }
        }
    }

    /// Returns true if an item can be moved to a scope: not to its own scope, and no folder into itself.
    pub fn can_move(&self, key: &RowKey, to: &Scope) -> bool {
        if !self.places.contains_key(to) {
            return false;
        }
        match key {
            RowKey::Thread(id) => self.place_of(id).is_some_and(|place| place != to),
            RowKey::Folder(id) => {
                let from = self.folder(id).map(|folder| &folder.parent_folder_id);
                from.is_some_and(|from| from != to)
                    && self.ancestors(to).all(|place| place.scope().as_ref() != Some(id))
            }
            RowKey::Document(_) | RowKey::More(_) => false,
        }
    }

    /// Iterates over the place and its ancestors up to the root.
    fn ancestors<'a>(&'a self, scope: &Scope) -> impl Iterator<Item = &'a Place> {
        let mut next = self.places.get(scope);
        // Answers read at different moments may contradict each other, so parents could form a cycle. The counter
        // guarantees that the iteration ends.
        let mut left = self.places.len();
        std::iter::from_fn(move || {
            let place = next.filter(|_| left > 0)?;
            left -= 1;
            next = place.folder.as_ref().and_then(|folder| self.places.get(&folder.parent_folder_id));
            Some(place)
        })
    }

    /// Recomputes the rows. Call it after every change that may be visible.
    fn arrange(&mut self) {
        // Rebuilding all runs costs as much as the number of visible folders, which is cheaper to get right than
        // patching them.
        self.runs = Runs::of(self);
    }

    /// Returns the threads that match the filter, by scope.
    fn matches(&self) -> BTreeMap<Scope, Vec<u32>> {
        let mut matches = BTreeMap::new();
        for (scope, place) in &self.places {
            let matching: Vec<u32> = (0_u32..)
                .zip(&place.threads)
                .filter(|(_, thread)| thread.title.to_lowercase().contains(&self.filter))
                .map(|(index, _)| index)
                .collect();
            if !matching.is_empty() {
                matches.insert(scope.clone(), matching);
            }
        }
        matches
    }
}
