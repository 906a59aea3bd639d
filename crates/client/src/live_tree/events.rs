//! Changes of a tree by notifications.

use protocol::notification::{DocumentChanged, TreeChange, TreeChanged};
use protocol::{FolderId, Sequence};

use super::LiveTree;
use super::place::Place;

impl LiveTree {
    /// Applies a change of folders or threads.
    pub fn tree_changed(&mut self, change: &TreeChanged) {
        if change.workspace_id != self.workspace_id {
            return;
        }
        match change.reason {
            TreeChange::WorkspaceCreated
            | TreeChange::WorkspaceUpdated
            | TreeChange::WorkspaceArchived
            | TreeChange::WorkspaceRestored
            // `thread/agents_doc/changed` carries the document and its new state.
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
                    self.fetching.note_folder(id.clone(), change.seq);
                }
            }
            TreeChange::ThreadCreated | TreeChange::ThreadMoved | TreeChange::ThreadRenamed => {
                if let Some(id) = &change.thread_id {
                    self.fetching.want_thread(id.clone(), change.seq);
                }
            }
            TreeChange::ThreadArchived => {
                if let Some(id) = &change.thread_id {
                    // Noted before the thread is dropped, so that an answer still in flight does not revive it.
                    self.fetching.note_thread(id.clone(), change.seq);
                    self.drop_thread(id);
                }
            }
        }
        self.newest_change = self.newest_change.max(change.seq);
        // After a bulk change, one request per item would take longer than reloading the visible part.
        if self.fetching.has_too_many_singles() {
            self.fetching.drop_singles();
            self.reload_shown(change.seq);
        }
        self.arrange();
    }

    /// Applies a change of a scope's document.
    pub fn document_changed(&mut self, change: &DocumentChanged) {
        if change.workspace_id != self.workspace_id {
            return;
        }
        match self.places.get_mut(&change.folder_id) {
            // Answers and notifications overtake each other, so a loaded part may already contain a later state.
            Some(place) if place.document_seq < change.seq => {
                place.document.clone_from(&change.summary);
                place.document_seq = change.seq;
                self.arrange();
            }
            Some(_) => {}
            // A part in flight may be older than this change. Remembering the sequence number makes it be loaded again.
            None => self.newest_change = self.newest_change.max(change.seq),
        }
    }

    /// Removes a deleted folder and reloads its parent, which now holds its content.
    fn folder_deleted(&mut self, id: &FolderId, seq: Sequence) {
        // An earlier announcement may mean that the folder was moved after it was last loaded.
        let is_sure = !self.fetching.may_have_moved(id);
        let parent = self.places.get(&Some(id.clone())).map(Place::parent);
        self.drop_folder(id);
        match parent.filter(|_| is_sure) {
            Some(parent) => {
                if let Some(place) = self.places.get_mut(&parent) {
                    // Threads of the deleted folder now sort among those of the parent, so its loaded pages may have
                    // gaps.
                    place.note_new_threads(seq);
                }
                self.fetching.want_part(parent);
            }
            // The former parent is unknown, so the content may now be in any folder that is shown.
            None => self.reload_shown(seq),
        }
    }
}
