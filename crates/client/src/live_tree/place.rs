//! What is known of one folder, or of the workspace root.

use protocol::{DocumentSummary, Folder, FolderId, Sequence, ThreadId, ThreadSummary};

use super::Scope;

#[derive(Debug, Clone)]
pub(super) struct Place {
    /// None for the workspace root.
    pub(super) folder: Option<Folder>,
    /// Folders in it that are known, by name.
    pub(super) folders: Vec<FolderId>,
    /// Threads in it that are known, oldest first.
    pub(super) threads: Vec<ThreadSummary>,
    pub(super) document: Option<DocumentSummary>,
    /// The change that the document is known from: an older answer says nothing new about it.
    pub(super) document_seq: Sequence,
    /// Whether its document and its threads have come.
    pub(super) is_loaded: bool,
    /// Whether the folders in it have: a part of the place above says only how many there are.
    pub(super) knows_folders: bool,
    /// Threads that were left out; a count to show, which others may have changed since.
    pub(super) missing_threads: u64,
    /// The last thread up to which none is missing: the next page follows it. One that was announced may come after it.
    pub(super) cursor: Option<ThreadId>,
    /// The last change that may have brought threads here without announcing each: an older answer does not know them.
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

    /// Whether every folder directly in it is known.
    pub(super) fn has_all_folders(&self) -> bool {
        self.is_loaded && self.knows_folders
    }

    /// Whether there is, or may be, something to see in it.
    pub(super) fn has_children(&self) -> bool {
        !self.is_loaded
            || !self.folders.is_empty()
            || !self.threads.is_empty()
            || self.document.is_some()
            || self.missing_threads + self.missing_folders > 0
    }

    /// A change may have brought threads that are not announced one by one, anywhere among those that are known.
    pub(super) fn threads_came(&mut self, seq: Sequence) {
        self.cursor = None;
        self.threads_seq = seq;
    }

    /// Where a thread is, or would be.
    pub(super) fn position(&self, id: &ThreadId) -> Result<usize, usize> {
        self.threads.binary_search_by(|thread| thread.id.cmp(id))
    }

    /// Puts a thread into its place, or replaces what is known of it.
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
