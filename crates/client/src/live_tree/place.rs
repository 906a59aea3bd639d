//! Known state of one folder or of the workspace root.

use protocol::{DocumentSummary, Folder, FolderId, Sequence, ThreadId, ThreadSummary};

use super::Scope;

#[derive(Debug, Clone)]
pub(super) struct Place {
    /// `None` for the workspace root.
    pub(super) folder: Option<Folder>,
    /// Known folders in this place, by name.
    pub(super) folders: Vec<FolderId>,
    /// Known threads in this place, oldest first.
    pub(super) threads: Vec<ThreadSummary>,
    pub(super) document: Option<DocumentSummary>,
    /// Change from which the document is known. Older answers do not replace it.
    pub(super) document_seq: Sequence,
    /// True once the document and the threads have been loaded.
    pub(super) is_loaded: bool,
    /// True once the folders have been loaded. A part of the parent only carries their number.
    pub(super) knows_folders: bool,
    /// Number of threads that were left out, for display. It may be outdated.
    pub(super) missing_threads: u64,
    /// Last thread of the gapless prefix; the next page starts after it. Announced threads may come after it.
    pub(super) cursor: Option<ThreadId>,
    /// Last change that may have added threads without announcing each. Older answers do not contain them.
    pub(super) threads_seq: Sequence,
    pub(super) missing_folders: u64,
    pub(super) is_expanded: bool,
}

impl Place {
    pub(super) fn root() -> Self {
        Self {
            folder: None,
            folders: Vec::new(),
            threads: Vec::new(),
            document: None,
            document_seq: Sequence(0),
            is_loaded: false,
            knows_folders: false,
            missing_threads: 0,
            cursor: None,
            threads_seq: Sequence(0),
            missing_folders: 0,
            is_expanded: true,
        }
    }

    pub(super) fn of(folder: Folder) -> Self {
        Self { folder: Some(folder), is_expanded: false, ..Self::root() }
    }

    pub(super) fn scope(&self) -> Scope {
        self.folder.as_ref().map(|folder| folder.id.clone())
    }

    pub(super) fn parent(&self) -> Scope {
        self.folder.as_ref().and_then(|folder| folder.parent_folder_id.clone())
    }

    /// Returns true if every direct subfolder is known.
    pub(super) fn has_all_folders(&self) -> bool {
        self.is_loaded && self.knows_folders
    }

    /// Returns true if the place has, or may have, content.
    pub(super) fn has_children(&self) -> bool {
        // Content that is not loaded counts as well, so that the user can expand the folder to find out.
        !self.is_loaded
            || !self.folders.is_empty()
            || !self.threads.is_empty()
            || self.document.is_some()
            || self.missing_threads + self.missing_folders > 0
    }

    /// Records a change that may have added threads anywhere without announcing them individually.
    pub(super) fn note_new_threads(&mut self, seq: Sequence) {
        self.cursor = None;
        self.threads_seq = seq;
    }

    /// Returns the index of a thread, or the index to insert it at.
    pub(super) fn position(&self, id: &ThreadId) -> Result<usize, usize> {
        // Ids ascend in the order of creation, so sorting by id puts the oldest thread first.
        self.threads.binary_search_by(|thread| thread.id.cmp(id))
    }

    /// Inserts or replaces a thread.
    pub(super) fn put_thread(&mut self, thread: ThreadSummary) {
        match self.position(&thread.id) {
            Ok(index) => self.threads[index] = thread,
            Err(index) => self.threads.insert(index, thread),
        }
    }

    pub(super) fn remove_thread(&mut self, id: &ThreadId) {
        if let Ok(index) = self.position(id) {
            self.threads.remove(index);
        }
    }
}
