//! The thread tree of a workspace as a sidebar shows it, while others change it.
//!
//! Pure: it is fed by parts of the tree and by notifications, [`LiveTree::poll`] says which parts to ask for next, and the
//! visible rows are found by their index. A folder's threads are one run of rows however many they are, so the cost of a
//! change is that of the folders that can be seen.
//!
//! [`TreeModel`](crate::TreeModel) is apart because it arranges one whole answer for a command that ends after it.

mod events;
mod failures;
mod fetching;
mod place;
mod rows;
mod selection;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use protocol::{DocumentStatus, DocumentSummary, Folder, FolderId, Sequence, ThreadId, WorkspaceId};

pub use fetching::TreeRequest;
pub use rows::{DocumentRow, DocumentState, FolderRow, RowKey, TreeRow, TreeRowKind};

use place::Place;
use rows::Runs;

/// A place that has a document of its own: a folder, or the workspace root.
pub type Scope = Option<FolderId>;

/// A workspace's tree, as far as it is known.
#[derive(Debug, Clone)]
pub struct LiveTree {
    workspace_id: WorkspaceId,
    places: HashMap<Scope, Place>,
    thread_places: HashMap<ThreadId, Scope>,
    /// The newest change that the first part contains.
    seq: Option<Sequence>,
    /// The newest change of folders or threads that was announced.
    newest_change: Sequence,
    fetching: fetching::Fetching,
    open_editors: BTreeSet<Scope>,
    filter: String,
    selected: Option<RowKey>,
    runs: Runs,
}

impl LiveTree {
    /// A tree of which nothing is known yet.
    pub fn new(workspace_id: WorkspaceId) -> Self {
        let mut tree = Self {
            workspace_id,
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
        tree.fetching.want_part(None);
        tree
    }

    /// The workspace.
    pub fn workspace_id(&self) -> &WorkspaceId {
        &self.workspace_id
    }

    /// Whether the first part has come.
    pub fn is_loaded(&self) -> bool {
        self.seq.is_some()
    }

    /// The newest change that the first part contains: follow the workspace from here.
    pub fn seq(&self) -> Option<Sequence> {
        self.seq
    }

    /// A folder that is known.
    pub fn folder(&self, id: &FolderId) -> Option<&Folder> {
        self.places.get(&Some(id.clone()))?.folder.as_ref()
    }

    /// Names of the folders down to a scope, root first.
    pub fn path(&self, scope: &Scope) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.ancestors(scope).filter_map(|place| Some(place.folder.as_ref()?.name.as_str())).collect();
        names.reverse();
        names
    }

    /// The scope's own document, as far as it is known.
    pub fn document(&self, scope: &Scope) -> Option<&DocumentSummary> {
        self.places.get(scope)?.document.as_ref()
    }

    /// Where a thread is; none when it is not known.
    pub fn place_of(&self, thread_id: &ThreadId) -> Option<&Scope> {
        self.thread_places.get(thread_id)
    }

    /// What a scope's own row says.
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

    /// The nearest scope above with an active document.
    pub fn inherits_from(&self, scope: &Scope) -> Option<Scope> {
        let above = self.ancestors(scope).skip(1);
        let mut active = above.filter(|place| {
            place.document.as_ref().is_some_and(|document| document.status == DocumentStatus::Active)
        });
        active.next().map(Place::scope)
    }

    /// An editor is open for a scope, which has a row from now on whether it has a document or not.
    pub fn open_editor(&mut self, scope: Scope) {
        self.open_editors.insert(scope);
        self.arrange();
    }

    /// The editor of a scope is closed.
    pub fn close_editor(&mut self, scope: &Scope) {
        self.open_editors.remove(scope);
        self.arrange();
    }

    /// Shows what is in a folder.
    pub fn expand(&mut self, id: &FolderId) {
        self.set_expanded(id, true);
    }

    /// Hides what is in a folder.
    pub fn collapse(&mut self, id: &FolderId) {
        self.set_expanded(id, false);
    }

    /// Shows or hides what is in a folder.
    pub fn toggle(&mut self, id: &FolderId) {
        let is_expanded = self.places.get(&Some(id.clone())).is_some_and(|place| place.is_expanded);
        self.set_expanded(id, !is_expanded);
    }

    /// The folders that are expanded, to be remembered for the next start.
    pub fn expanded(&self) -> impl Iterator<Item = &FolderId> {
        self.places.iter().filter(|(_, place)| place.is_expanded).filter_map(|(scope, _)| scope.as_ref())
    }

    fn set_expanded(&mut self, id: &FolderId, is_expanded: bool) {
        let scope = Some(id.clone());
        let Some(place) = self.places.get_mut(&scope) else { return };
        place.is_expanded = is_expanded;
        if is_expanded && !place.has_all_folders() {
            self.fetching.want_part(scope);
        }
        self.arrange();
    }

    /// Only rows whose name contains the text, and those above them; empty: all.
    pub fn set_filter(&mut self, filter: &str) {
        self.filter = filter.trim().to_lowercase();
        if !self.filter.is_empty() {
            self.want_everything();
        }
        self.arrange();
    }

    /// The filter, in lower case; empty: none.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many runs the rows are kept in: finding one costs as much as finding its run among them.
    pub fn run_count(&self) -> usize {
        self.runs.count()
    }

    /// These rows are on the screen: what they leave out is asked for.
    pub fn shown(&mut self, rows: Range<usize>) {
        for scope in self.runs.left_out_in(rows) {
            let Some(place) = self.places.get(&scope) else { continue };
            if place.missing_threads > 0 {
                self.fetching.want_page(scope);
            }
        }
    }

    /// Whether something can be moved to a scope: not to where it is, and no folder into itself.
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

    /// The place itself, then what is above it, up to the root.
    fn ancestors<'a>(&'a self, scope: &Scope) -> impl Iterator<Item = &'a Place> {
        let mut next = self.places.get(scope);
        // Answers of different moments may contradict each other, so that parents could form a circle.
        let mut left = self.places.len();
        std::iter::from_fn(move || {
            let place = next.filter(|_| left > 0)?;
            left -= 1;
            next = place.folder.as_ref().and_then(|folder| self.places.get(&folder.parent_folder_id));
            Some(place)
        })
    }

    /// Finds the rows anew; every change of what can be seen ends with it.
    fn arrange(&mut self) {
        self.runs = Runs::of(self);
    }

    /// Threads by place, for the rows of a filter.
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
