//! What notifications change in a tree.

use protocol::notification::{DocumentChanged, TreeChange, TreeChanged};
use protocol::{FolderId, Sequence};

use super::LiveTree;
use super::place::Place;

impl LiveTree {
    /// Folders or threads changed.
    pub fn tree_changed(&mut self, change: &TreeChanged) {
        if change.workspace_id != self.workspace_id {
            return;
        }
        match change.reason {
            TreeChange::WorkspaceCreated
            | TreeChange::WorkspaceUpdated
            | TreeChange::WorkspaceArchived
            | TreeChange::WorkspaceRestored
            // `thread/agents_doc/changed` says which document, and what became of it.
            | TreeChange::AgentsDoc => return,
            TreeChange::FolderCreated
            | TreeChange::FolderRenamed
            | TreeChange::FolderMoved
            | TreeChange::FolderRestored => {
                if let Some(id) = &change.folder_id {
                    self.fetching.want_folder(id.clone(), change.seq);
                }
            }
            TreeChange::FolderDeleted => {
                if let Some(id) = &change.folder_id {
                    self.folder_deleted(id, change.seq);
                    self.fetching.heard_of_folder(id.clone(), change.seq);
                }
            }
            TreeChange::ThreadCreated | TreeChange::ThreadMoved | TreeChange::ThreadRenamed => {
                if let Some(id) = &change.thread_id {
                    self.fetching.want_thread(id.clone(), change.seq);
                }
            }
            TreeChange::ThreadArchived => {
                if let Some(id) = &change.thread_id {
                    self.fetching.heard_of_thread(id.clone(), change.seq);
                    self.forget_thread(id);
                }
            }
        }
        self.newest_change = self.newest_change.max(change.seq);
        if self.fetching.has_too_many_singles() {
            self.fetching.forget_singles();
            self.load_shown_again(change.seq);
        }
        self.arrange();
    }

    /// A scope's document changed.
    pub fn document_changed(&mut self, change: &DocumentChanged) {
        if change.workspace_id != self.workspace_id {
            return;
        }
        match self.places.get_mut(&change.folder_id) {
            Some(place) if place.document_seq < change.seq => {
                place.document.clone_from(&change.summary);
                place.document_seq = change.seq;
                self.arrange();
            }
            Some(_) => {}
            // A part that is on its way may be older than this.
            None => self.newest_change = self.newest_change.max(change.seq),
        }
    }

    /// What was in a deleted folder is in its parent now, of which a part is asked for.
    fn folder_deleted(&mut self, id: &FolderId, seq: Sequence) {
        // One that was announced before may have been moved since it was seen.
        let is_sure = !self.fetching.may_have_moved(id);
        let parent = self.places.get(&Some(id.clone())).map(Place::parent);
        self.forget_folder(id);
        match parent.filter(|_| is_sure) {
            Some(parent) => {
                if let Some(place) = self.places.get_mut(&parent) {
                    place.threads_came(seq);
                }
                self.fetching.want_part(parent);
            }
            // Nobody knows where it was, but what was in it may now be in a folder that is shown.
            None => self.load_shown_again(seq),
        }
    }
}
