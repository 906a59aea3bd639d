//! Requests for parts of a tree, and how their answers change it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use protocol::method::{
    FolderGetParams, ThreadGetParams, ThreadListParams, ThreadListResult, ThreadTreeParams, ThreadTreeResult,
};
use protocol::{Folder, FolderId, Sequence, Thread, ThreadId, ThreadSummary};

use super::failures::Failures;
use super::{LiveTree, Scope};
use crate::Failure;

/// Threads of each folder that a part includes.
const PART_THREADS: u32 = 200;
/// Threads per further page.
const PAGE_THREADS: u32 = 500;
/// Requests in flight: enough to keep a connection busy, few enough not to delay an editor's requests.
const MAX_IN_FLIGHT: usize = 4;
/// Changed folders and threads that are fetched individually. Beyond this, reloading the visible part is faster.
const SINGLE_LIMIT: usize = 64;

/// A request to the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeRequest {
    /// Content of a place: `thread/tree`.
    Part(ThreadTreeParams),
    /// More threads of a place: `thread/list`.
    Page(ThreadListParams),
    /// A changed folder.
    Folder(FolderGetParams),
    /// A changed thread.
    Thread(ThreadGetParams),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Wanted {
    Part(Scope),
    Page(Scope),
    Folder(FolderId),
    Thread(ThreadId),
}

/// Wanted, in-flight and failed requests.
///
/// Answers and announcements overtake each other. A part carries the change up to which it is valid. Announcements of
/// later changes win over it, and the part is requested again.
#[derive(Debug, Clone, Default)]
pub(super) struct Fetching {
    wanted: BTreeSet<Wanted>,
    /// Requests in flight, with the newest change announced when they were sent.
    in_flight: HashMap<Wanted, Sequence>,
    failures: Failures,
    /// Answers in flight from before a complete reload.
    outdated: HashSet<Wanted>,
    /// Last announced change of each thread, while older answers may be in flight.
    threads: HashMap<ThreadId, Sequence>,
    folders: HashMap<FolderId, Sequence>,
}

impl Fetching {
    pub(super) fn want_part(&mut self, scope: Scope) {
        self.wanted.insert(Wanted::Part(scope));
    }

    /// Requests the next page of a place, unless it is already in flight.
    pub(super) fn want_page(&mut self, scope: Scope) {
        self.want_unless_asked(Wanted::Page(scope));
    }

    fn want_unless_asked(&mut self, wanted: Wanted) {
        if !self.in_flight.contains_key(&wanted) && !self.failures.contains(&wanted) {
            self.wanted.insert(wanted);
        }
    }

    pub(super) fn want_folder(&mut self, id: FolderId, seq: Sequence) {
        self.note_folder(id.clone(), seq);
        self.wanted.insert(Wanted::Folder(id));
    }

    pub(super) fn want_thread(&mut self, id: ThreadId, seq: Sequence) {
        self.note_thread(id.clone(), seq);
        self.wanted.insert(Wanted::Thread(id));
    }

    pub(super) fn note_folder(&mut self, id: FolderId, seq: Sequence) {
        self.folders.insert(id, seq);
    }

    pub(super) fn note_thread(&mut self, id: ThreadId, seq: Sequence) {
        self.threads.insert(id, seq);
    }

    pub(super) fn has_too_many_singles(&self) -> bool {
        let is_single = |wanted: &&Wanted| matches!(wanted, Wanted::Folder(_) | Wanted::Thread(_));
        self.wanted.iter().filter(is_single).count() > SINGLE_LIMIT
    }

    pub(super) fn drop_singles(&mut self) {
        self.wanted.retain(|wanted| !matches!(wanted, Wanted::Folder(_) | Wanted::Thread(_)));
    }

    /// Returns true if a thread was announced after `than`, so an answer of that age is outdated.
    fn is_newer_thread(&self, id: &ThreadId, than: Sequence) -> bool {
        self.threads.get(id).is_some_and(|seq| *seq > than)
    }

    fn is_newer_folder(&self, id: &FolderId, than: Sequence) -> bool {
        self.folders.get(id).is_some_and(|seq| *seq > than)
    }

    /// Returns true if a folder was announced and may not have been loaded since.
    pub(super) fn may_have_moved(&self, id: &FolderId) -> bool {
        self.folders.contains_key(id) || self.failures.contains(&Wanted::Folder(id.clone()))
    }

    /// Records an answer. Returns the newest change known when the request was sent, or `None` if the answer is outdated.
    fn answered(&mut self, wanted: &Wanted) -> Option<Sequence> {
        let asked_at = self.in_flight.remove(wanted)?;
        self.failures.succeeded();
        // This answer was read before the reload and may contradict the new content, so it is requested again.
        if self.outdated.remove(wanted) {
            self.wanted.insert(wanted.clone());
            return None;
        }
        Some(asked_at)
    }

    /// Clears announcements when no answer is in flight, because nothing older can arrive any more.
    fn clear_announcements_when_idle(&mut self) {
        if self.in_flight.is_empty() && self.wanted.is_empty() {
            self.threads.clear();
            self.folders.clear();
        }
    }
}

impl LiveTree {
    /// Returns the next request. Several requests may be in flight.
    pub fn poll(&mut self, now: Instant) -> Option<TreeRequest> {
        self.fetching.wanted.append(&mut self.fetching.failures.take_due(now));
        if self.fetching.in_flight.len() >= MAX_IN_FLIGHT {
            return None;
        }
        let fetching = &self.fetching;
        // Notifications are subscribed from the first part on. Loading anything else earlier could miss the changes in
        // between.
        let may_ask = |wanted: &&Wanted| self.seq.is_some() || **wanted == Wanted::Part(None);
        let mut waiting = fetching.wanted.iter().filter(may_ask);
        // A part that must be repeated stays wanted while it is in flight. It waits, because two answers to the
        // same request could arrive in the wrong order.
        let wanted = waiting.find(|wanted| !fetching.in_flight.contains_key(*wanted))?.clone();
        self.fetching.wanted.remove(&wanted);
        self.fetching.failures.forget(&wanted);
        let workspace_id = self.workspace_id.clone();
        let request = match &wanted {
            Wanted::Part(folder_id) => TreeRequest::Part(ThreadTreeParams {
                workspace_id,
                folder_id: folder_id.clone(),
                depth: Some(1),
                thread_limit: Some(PART_THREADS),
            }),
            Wanted::Page(folder_id) => TreeRequest::Page(ThreadListParams {
                workspace_id,
                folder_id: folder_id.clone(),
                after: self.places.get(folder_id).and_then(|place| place.cursor.clone()),
                limit: PAGE_THREADS,
            }),
            Wanted::Folder(folder_id) => {
                TreeRequest::Folder(FolderGetParams { workspace_id, folder_id: folder_id.clone() })
            }
            Wanted::Thread(thread_id) => {
                TreeRequest::Thread(ThreadGetParams { workspace_id, thread_id: thread_id.clone() })
            }
        };
        // The answer may be as old as this moment, so announcements after it win over it.
        self.fetching.in_flight.insert(wanted, self.newest_change);
        Some(request)
    }

    /// Returns the time of the next [`poll`](Self::poll) if nothing happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        self.fetching.failures.wake_at()
    }

    /// Reports a failed request, unless the item no longer exists. It is retried automatically if that may help, otherwise by
    /// [`retry`](Self::retry).
    pub fn request_failed(&mut self, request: &TreeRequest, failure: Failure, now: Instant) {
        let wanted = match request {
            TreeRequest::Part(params) => Wanted::Part(params.folder_id.clone()),
            TreeRequest::Page(params) => Wanted::Page(params.folder_id.clone()),
            TreeRequest::Folder(params) => Wanted::Folder(params.folder_id.clone()),
            TreeRequest::Thread(params) => Wanted::Thread(params.thread_id.clone()),
        };
        if self.fetching.in_flight.remove(&wanted).is_some() {
            self.fetching.outdated.remove(&wanted);
            self.fetching.failures.add(wanted, failure, now);
        }
    }

    /// Reports that a requested place no longer exists, and removes it.
    pub fn place_gone(&mut self, request: &TreeRequest) {
        let (wanted, scope) = match request {
            TreeRequest::Part(params) => (Wanted::Part(params.folder_id.clone()), &params.folder_id),
            TreeRequest::Page(params) => (Wanted::Page(params.folder_id.clone()), &params.folder_id),
            TreeRequest::Folder(_) | TreeRequest::Thread(_) => return,
        };
        if self.fetching.answered(&wanted).is_some()
            && let Some(id) = scope
        {
            self.drop_folder(id);
        }
        self.arrange();
    }

    /// Returns the reason why content is missing.
    pub fn problem(&self) -> Option<&str> {
        self.fetching.failures.message()
    }

    /// Retries failed requests, for example after reconnecting.
    pub fn retry(&mut self) {
        let mut failed = self.fetching.failures.take_all();
        self.fetching.wanted.append(&mut failed);
    }

    /// Reloads everything that is shown, because changes may have been missed.
    pub fn reload(&mut self) {
        let Fetching { wanted, in_flight, failures, outdated, threads, folders } = &mut self.fetching;
        // Requests in flight cannot be cancelled. Their answers are ignored when they arrive.
        outdated.extend(in_flight.keys().cloned());
        wanted.clear();
        failures.take_all();
        threads.clear();
        folders.clear();
        // Until the root is known again, `poll` requests nothing else, because the new subscription starts from
        // that answer.
        self.seq = None;
        self.newest_change = Sequence(0);
        for place in self.places.values_mut() {
            // The reload may follow a change of the database, whose sequence numbers are not comparable. Every new
            // answer must win.
            place.document_seq = Sequence(0);
        }
        self.reload_shown(Sequence(0));
        self.arrange();
    }

    /// Reloads all expanded places now and the others when they are expanded.
    pub(super) fn reload_shown(&mut self, seq: Sequence) {
        for (scope, place) in &mut self.places {
            place.is_loaded = false;
            place.knows_folders = false;
            place.note_new_threads(seq);
            if place.is_expanded {
                self.fetching.wanted.insert(Wanted::Part(scope.clone()));
            }
        }
        self.want_everything_if_filtered();
    }

    /// Reports a loaded part.
    pub fn part_loaded(&mut self, params: &ThreadTreeParams, part: ThreadTreeResult) {
        let wanted = Wanted::Part(params.folder_id.clone());
        if self.fetching.answered(&wanted).is_some() {
            // The owner subscribes from this change on, so later parts of the root must not move it.
            if params.folder_id.is_none() && self.seq.is_none() {
                self.seq = Some(part.seq);
            }
            // The part is older than a known change. It is shown anyway, and requested again.
            if part.seq < self.newest_change {
                self.fetching.wanted.insert(wanted);
            }
            // The folder may have been deleted while its part was on the way.
            if self.places.contains_key(&params.folder_id) {
                self.take_part(params, part);
            }
            self.want_everything_if_filtered();
            self.fetching.clear_announcements_when_idle();
        }
        self.arrange();
    }

    pub(super) fn take_part(&mut self, params: &ThreadTreeParams, part: ThreadTreeResult) {
        let ThreadTreeResult { seq, folders, threads, placements, agents_docs, more, .. } = part;
        let mut inside: HashMap<Scope, Vec<FolderId>> = HashMap::new();
        let mut covered: Vec<Scope> = vec![params.folder_id.clone()];
        for folder in folders {
            // An announcement newer than this part already moved or deleted the folder.
            if !self.fetching.is_newer_folder(&folder.id, seq) {
                inside.entry(folder.parent_folder_id.clone()).or_default().push(folder.id.clone());
                covered.push(Some(folder.id.clone()));
                self.put_folder(folder);
            }
        }
        let placed: HashMap<ThreadId, FolderId> =
            placements.into_iter().map(|placement| (placement.thread_id, placement.folder_id)).collect();
        let mut by_place: HashMap<Scope, Vec<ThreadSummary>> = HashMap::new();
        for thread in threads {
            if !self.fetching.is_newer_thread(&thread.id, seq) {
                by_place.entry(placed.get(&thread.id).cloned()).or_default().push(thread);
            }
        }
        let mut documents: HashMap<Scope, _> =
            agents_docs.into_iter().map(|document| (document.folder_id.clone(), document)).collect();
        let left_out: HashMap<Scope, _> =
            more.into_iter().map(|more| (more.folder_id.clone(), more)).collect();
        for scope in covered {
            let (missing_threads, missing_folders) =
                left_out.get(&scope).map_or((0, 0), |more| (more.threads, more.folders));
            self.take_folders(&scope, inside.remove(&scope).unwrap_or_default(), missing_folders, seq);
            self.take_threads(&scope, by_place.remove(&scope).unwrap_or_default(), missing_threads, seq);
            let document = documents.remove(&scope);
            if let Some(place) = self.places.get_mut(&scope) {
                place.is_loaded = true;
                // A notification may have brought a newer document than this part contains.
                if place.document_seq <= seq {
                    place.document = document;
                    place.document_seq = seq;
                }
            }
        }
    }

    /// Applies the folders of a place, or the number of folders that the answer left out.
    fn take_folders(&mut self, scope: &Scope, listed: Vec<FolderId>, missing: u64, seq: Sequence) {
        let Some(place) = self.places.get_mut(scope) else { return };
        if missing > 0 {
            // An earlier listing remains valid if its length still matches.
            place.knows_folders &= place.folders.len() as u64 == missing;
            place.missing_folders = if place.knows_folders { 0 } else { missing };
            if !place.knows_folders && place.is_expanded {
                self.fetching.want_part(scope.clone());
            }
            return;
        }
        place.missing_folders = 0;
        place.knows_folders = true;
        let before = std::mem::replace(&mut place.folders, listed);
        for id in before {
            let is_listed = self.places.get(scope).is_some_and(|place| place.folders.contains(&id));
            // A folder that now has another parent was moved.
            let is_here = self.folder(&id).is_some_and(|folder| folder.parent_folder_id == *scope);
            if is_listed || !is_here {
                continue;
            }
            // The folder was announced after this part was read, so its absence from the part proves nothing.
            if self.fetching.is_newer_folder(&id, seq) {
                self.list_folder(&id, scope);
            } else {
                self.drop_folder(&id);
            }
        }
        self.sort_folders(scope);
    }

    /// Applies the first threads of a place and the number of remaining ones. Later pages that were loaded stay.
    fn take_threads(&mut self, scope: &Scope, threads: Vec<ThreadSummary>, missing: u64, seq: Sequence) {
        let Some(place) = self.places.get_mut(scope) else { return };
        let last = threads.last().map(|thread| thread.id.clone());
        let before = std::mem::replace(&mut place.threads, threads);
        let is_beyond = |thread: &ThreadSummary| missing > 0 && Some(&thread.id) > last.as_ref();
        let was_paged = place.is_loaded && place.cursor > last;
        let mut kept = 0;
        // Threads of later pages stay, and so do announced threads that this part is too old to contain.
        for thread in before {
            let was_loaded = is_beyond(&thread) && was_paged && Some(&thread.id) <= place.cursor.as_ref();
            if was_loaded || self.fetching.is_newer_thread(&thread.id, seq) {
                kept += u64::from(was_loaded);
                place.put_thread(thread);
            } else if place.position(&thread.id).is_err() && self.thread_places.get(&thread.id) == Some(scope)
            {
                self.thread_places.remove(&thread.id);
            }
        }
        // Threads may have been inserted anywhere since this part was read, so paging starts over from the
        // beginning.
        if seq < place.threads_seq {
            place.cursor = None;
        } else if !(was_paged && missing > 0) {
            place.cursor = last;
        }
        // At least one remains as long as threads are left out; only the last page reports that none are.
        place.missing_threads = if missing > 0 { missing.saturating_sub(kept).max(1) } else { 0 };
        let here: Vec<ThreadId> = place.threads.iter().map(|thread| thread.id.clone()).collect();
        for id in here {
            self.place_thread(id, scope);
        }
    }

    /// Reports a loaded page of threads.
    pub fn page_loaded(&mut self, params: &ThreadListParams, page: ThreadListResult) {
        let scope = params.folder_id.clone();
        let asked_at = self.fetching.answered(&Wanted::Page(scope.clone()));
        if let Some(asked_at) = asked_at {
            self.take_page(&scope, params.after.as_ref(), page, asked_at);
            self.want_everything_if_filtered();
            self.fetching.clear_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_page(
        &mut self,
        scope: &Scope,
        after: Option<&ThreadId>,
        page: ThreadListResult,
        asked_at: Sequence,
    ) {
        let Some(place) = self.places.get_mut(scope) else { return };
        let last = page.threads.last().map(|thread| thread.id.clone());
        let threads: Vec<ThreadSummary> = page
            .threads
            .into_iter()
            // A page does not carry the change up to which it is valid, so compare with the time of its request.
            .filter(|thread| !self.fetching.is_newer_thread(&thread.id, asked_at))
            .collect();
        let ids: Vec<ThreadId> = threads.iter().map(|thread| thread.id.clone()).collect();
        let added = ids.iter().filter(|id| place.position(id).is_err()).count() as u64;
        // Appending a page is the usual case. Inserting thread by thread is only needed if announced threads lie
        // in between.
        let is_plain = place.threads.last().map(|thread| &thread.id) == after;
        if is_plain {
            place.threads.extend(threads);
        } else {
            threads.into_iter().for_each(|thread| place.put_thread(thread));
        }
        // A page from before a bulk change may have gaps, so it must not extend the gapless prefix.
        if asked_at >= place.threads_seq && place.cursor < last {
            place.cursor = last;
        }
        let left = place.missing_threads.saturating_sub(added).max(1);
        // Threads may have been added to the end since the request was sent.
        let is_all = page.next.is_none() && self.newest_change <= asked_at;
        place.missing_threads = if is_all { 0 } else { left };
        for id in ids {
            self.place_thread(id, scope);
        }
    }

    /// Reports a requested folder. `None` means that it no longer exists.
    pub fn folder_loaded(&mut self, id: &FolderId, folder: Option<Folder>) {
        if let Some(asked_at) = self.fetching.answered(&Wanted::Folder(id.clone())) {
            match folder {
                None => self.drop_folder(id),
                // A newer announcement exists: the folder was deleted, or is being requested again.
                Some(_) if self.fetching.is_newer_folder(id, asked_at) => {}
                Some(folder) => self.take_folder(folder),
            }
            self.fetching.clear_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_folder(&mut self, folder: Folder) {
        let id = folder.id.clone();
        let parent = folder.parent_folder_id.clone();
        match self.places.get_mut(&parent) {
            // The parent is not loaded, so the folder is not visible.
            None => self.drop_folder(&id),
            // The folders of the parent are not listed yet. They are loaded together, because this one alone would
            // look like all of them.
            Some(place) if !place.has_all_folders() && !place.folders.contains(&id) => {
                place.missing_folders = place.missing_folders.max(1);
                let is_expanded = place.is_expanded;
                self.drop_folder(&id);
                if is_expanded {
                    self.fetching.want_part(parent);
                }
            }
            Some(_) => {
                let is_known = self.places.contains_key(&Some(id.clone()));
                self.put_folder(folder);
                self.list_folder(&id, &parent);
                // A folder that is new here may have content, which only its part contains.
                if !is_known {
                    self.fetching.want_part(Some(id));
                }
            }
        }
    }

    /// Reports a requested thread. `None` means that it no longer exists.
    pub fn thread_loaded(&mut self, id: &ThreadId, thread: Option<Thread>) {
        if let Some(asked_at) = self.fetching.answered(&Wanted::Thread(id.clone())) {
            // The tree does not show archived threads, so an archived one counts as gone.
            let thread = thread.filter(|thread| thread.archived_at.is_none());
            match thread {
                None => self.drop_thread(id),
                // A newer announcement exists: the thread was archived, or is being requested again.
                Some(_) if self.fetching.is_newer_thread(id, asked_at) => {}
                Some(thread) => self.take_thread(thread),
            }
            self.fetching.clear_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_thread(&mut self, thread: Thread) {
        let id = thread.id.clone();
        let scope = thread.folder_id;
        let summary = ThreadSummary {
            id: thread.id,
            title: thread.title,
            mode: thread.mode,
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            parent_thread_id: thread.parent_thread_id,
            parent_turn_id: thread.parent_turn_id,
        };
        match self.places.get_mut(&scope) {
            Some(place) => {
                place.put_thread(summary);
                self.place_thread(id, &scope);
            }
            // The folder is not loaded, so the thread is not visible.
            None => self.drop_thread(&id),
        }
    }

    /// Loads everything that a filter must search.
    pub(super) fn want_everything(&mut self) {
        for (scope, place) in &self.places {
            // Folders come first, because their parts also bring threads. Further pages follow once each part has
            // arrived.
            if !place.has_all_folders() {
                self.fetching.want_unless_asked(Wanted::Part(scope.clone()));
            } else if place.missing_threads > 0 {
                self.fetching.want_page(scope.clone());
            }
        }
    }

    fn want_everything_if_filtered(&mut self) {
        if !self.filter.is_empty() {
            self.want_everything();
        }
    }
}
