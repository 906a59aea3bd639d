//! Which parts of a tree to ask for, and what their answers change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use protocol::method::{
    FolderGetParams, ThreadGetParams, ThreadListParams, ThreadListResult, ThreadTreeParams, ThreadTreeResult,
};
use protocol::{Folder, FolderId, Sequence, Thread, ThreadId, ThreadSummary};

use super::failures::Failures;
use super::place::Place;
use super::{LiveTree, Scope};
use crate::Failure;

/// Threads of each folder that come with a part.
const PART_THREADS: u32 = 200;
/// Threads of one further page.
const PAGE_THREADS: u32 = 500;
/// Requests under way at once: enough to keep a connection busy, too few to be in the way of an editor's.
const AT_ONCE: usize = 4;
/// Announced folders and threads that are asked for one by one; more are found faster by loading what is shown again.
const SINGLE_LIMIT: usize = 64;

/// What to ask the gateway for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeRequest {
    /// What is in a place: `thread/tree`.
    Part(ThreadTreeParams),
    /// More threads of a place: `thread/list`.
    Page(ThreadListParams),
    /// A folder that has changed.
    Folder(FolderGetParams),
    /// A thread that has changed.
    Thread(ThreadGetParams),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Wanted {
    Part(Scope),
    Page(Scope),
    Folder(FolderId),
    Thread(ThreadId),
}

/// What is wanted, what is under way, and what failed.
///
/// Answers and announcements overtake each other. A part says for which change it is true; what was announced after that
/// change is better known from the announcement, and the part is asked for once more.
#[derive(Debug, Clone, Default)]
pub(super) struct Fetching {
    wanted: BTreeSet<Wanted>,
    /// With the newest change that was announced when it was asked for.
    under_way: HashMap<Wanted, Sequence>,
    failures: Failures,
    /// Answers that are on their way from before everything was loaded again.
    outdated: HashSet<Wanted>,
    /// The last change that was announced of each, while older answers may be on their way.
    threads: HashMap<ThreadId, Sequence>,
    folders: HashMap<FolderId, Sequence>,
}

impl Fetching {
    pub(super) fn want_part(&mut self, scope: Scope) {
        self.wanted.insert(Wanted::Part(scope));
    }

    /// The next page of a place, unless it is already on its way.
    pub(super) fn want_page(&mut self, scope: Scope) {
        self.want_unless_asked(Wanted::Page(scope));
    }

    fn want_unless_asked(&mut self, wanted: Wanted) {
        if !self.under_way.contains_key(&wanted) && !self.failures.contains(&wanted) {
            self.wanted.insert(wanted);
        }
    }

    pub(super) fn want_folder(&mut self, id: FolderId, seq: Sequence) {
        self.heard_of_folder(id.clone(), seq);
        self.wanted.insert(Wanted::Folder(id));
    }

    pub(super) fn want_thread(&mut self, id: ThreadId, seq: Sequence) {
        self.heard_of_thread(id.clone(), seq);
        self.wanted.insert(Wanted::Thread(id));
    }

    pub(super) fn heard_of_folder(&mut self, id: FolderId, seq: Sequence) {
        self.folders.insert(id, seq);
    }

    pub(super) fn heard_of_thread(&mut self, id: ThreadId, seq: Sequence) {
        self.threads.insert(id, seq);
    }

    pub(super) fn has_too_many_singles(&self) -> bool {
        let is_single = |wanted: &&Wanted| matches!(wanted, Wanted::Folder(_) | Wanted::Thread(_));
        self.wanted.iter().filter(is_single).count() > SINGLE_LIMIT
    }

    pub(super) fn forget_singles(&mut self) {
        self.wanted.retain(|wanted| !matches!(wanted, Wanted::Folder(_) | Wanted::Thread(_)));
    }

    /// Whether more is known of a thread than an answer that is true for a change can say.
    fn is_newer_thread(&self, id: &ThreadId, than: Sequence) -> bool {
        self.threads.get(id).is_some_and(|seq| *seq > than)
    }

    fn is_newer_folder(&self, id: &FolderId, than: Sequence) -> bool {
        self.folders.get(id).is_some_and(|seq| *seq > than)
    }

    /// Whether a folder was announced, and may not have been seen since.
    pub(super) fn may_have_moved(&self, id: &FolderId) -> bool {
        self.folders.contains_key(id) || self.failures.contains(&Wanted::Folder(id.clone()))
    }

    /// Takes note of an answer; none when it is to be ignored, otherwise what was known when it was asked for.
    fn answered(&mut self, wanted: &Wanted) -> Option<Sequence> {
        let asked_at = self.under_way.remove(wanted)?;
        self.failures.succeeded();
        if self.outdated.remove(wanted) {
            self.wanted.insert(wanted.clone());
            return None;
        }
        Some(asked_at)
    }

    /// Without answers on their way nothing can be older than what is known.
    fn forget_announcements_when_idle(&mut self) {
        if self.under_way.is_empty() && self.wanted.is_empty() {
            self.threads.clear();
            self.folders.clear();
        }
    }
}

impl LiveTree {
    /// What to ask the gateway for now. Several requests may be under way.
    pub fn poll(&mut self, now: Instant) -> Option<TreeRequest> {
        self.fetching.wanted.append(&mut self.fetching.failures.take_due(now));
        if self.fetching.under_way.len() >= AT_ONCE {
            return None;
        }
        let fetching = &self.fetching;
        // Changes are heard of from the first part on, so nothing else may be older than that.
        let may_ask = |wanted: &&Wanted| self.seq.is_some() || **wanted == Wanted::Part(None);
        let mut waiting = fetching.wanted.iter().filter(may_ask);
        let wanted = waiting.find(|wanted| !fetching.under_way.contains_key(*wanted))?.clone();
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
        self.fetching.under_way.insert(wanted, self.newest_change);
        Some(request)
    }

    /// When to call [`poll`](Self::poll) although nothing happened.
    pub fn wake_at(&self) -> Option<Instant> {
        self.fetching.failures.wake_at()
    }

    /// A request failed, for another reason than that there is no such thing. It is tried again by itself where that may
    /// help, else by [`retry`](Self::retry).
    pub fn request_failed(&mut self, request: &TreeRequest, failure: Failure, now: Instant) {
        let wanted = match request {
            TreeRequest::Part(params) => Wanted::Part(params.folder_id.clone()),
            TreeRequest::Page(params) => Wanted::Page(params.folder_id.clone()),
            TreeRequest::Folder(params) => Wanted::Folder(params.folder_id.clone()),
            TreeRequest::Thread(params) => Wanted::Thread(params.thread_id.clone()),
        };
        if self.fetching.under_way.remove(&wanted).is_some() {
            self.fetching.outdated.remove(&wanted);
            self.fetching.failures.add(wanted, failure, now);
        }
    }

    /// There is no such place any more, said the gateway about a part or a page: what is known of it goes.
    pub fn place_gone(&mut self, request: &TreeRequest) {
        let (wanted, scope) = match request {
            TreeRequest::Part(params) => (Wanted::Part(params.folder_id.clone()), &params.folder_id),
            TreeRequest::Page(params) => (Wanted::Page(params.folder_id.clone()), &params.folder_id),
            TreeRequest::Folder(_) | TreeRequest::Thread(_) => return,
        };
        if self.fetching.answered(&wanted).is_some()
            && let Some(id) = scope
        {
            self.forget_folder(id);
        }
        self.arrange();
    }

    /// Why something is missing in the tree, as far as that is not mended.
    pub fn problem(&self) -> Option<&str> {
        self.fetching.failures.message()
    }

    /// Asks again for what failed, such as when the connection is back.
    pub fn retry(&mut self) {
        let mut failed = self.fetching.failures.take_all();
        self.fetching.wanted.append(&mut failed);
    }

    /// Loads everything that is shown again: changes may have been missed.
    pub fn reload(&mut self) {
        let Fetching { wanted, under_way, failures, outdated, threads, folders } = &mut self.fetching;
        outdated.extend(under_way.keys().cloned());
        wanted.clear();
        failures.take_all();
        threads.clear();
        folders.clear();
        self.seq = None;
        self.newest_change = Sequence(0);
        for place in self.places.values_mut() {
            place.document_seq = Sequence(0);
        }
        self.load_shown_again(Sequence(0));
        self.arrange();
    }

    /// Asks for every open place again, and for the others when they are opened: a change may have touched any of them.
    pub(super) fn load_shown_again(&mut self, seq: Sequence) {
        for (scope, place) in &mut self.places {
            (place.is_loaded, place.knows_folders) = (false, false);
            place.threads_came(seq);
            if place.is_expanded {
                self.fetching.wanted.insert(Wanted::Part(scope.clone()));
            }
        }
        self.want_everything_if_filtered();
    }

    /// A part has come.
    pub fn part_loaded(&mut self, params: &ThreadTreeParams, part: ThreadTreeResult) {
        let wanted = Wanted::Part(params.folder_id.clone());
        if self.fetching.answered(&wanted).is_some() {
            if params.folder_id.is_none() && self.seq.is_none() {
                self.seq = Some(part.seq);
            }
            if part.seq < self.newest_change {
                self.fetching.wanted.insert(wanted);
            }
            if self.places.contains_key(&params.folder_id) {
                self.take_part(params, part);
            }
            self.want_everything_if_filtered();
            self.fetching.forget_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_part(&mut self, params: &ThreadTreeParams, part: ThreadTreeResult) {
        let ThreadTreeResult { seq, folders, threads, placements, agents_docs, more, .. } = part;
        let mut inside: HashMap<Scope, Vec<FolderId>> = HashMap::new();
        let mut covered: Vec<Scope> = vec![params.folder_id.clone()];
        for folder in folders {
            // What is known of it from an announcement stays: where it is, or that it is gone.
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
                if place.document_seq <= seq {
                    (place.document, place.document_seq) = (document, seq);
                }
            }
        }
    }

    /// The folders of a place, or how many of them the answer left out.
    fn take_folders(&mut self, scope: &Scope, listed: Vec<FolderId>, missing: u64, seq: Sequence) {
        let Some(place) = self.places.get_mut(scope) else { return };
        if missing > 0 {
            // What was loaded of it before still counts, if it can be all.
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
            // One that is elsewhere now was moved there.
            let is_here = self.folder(&id).is_some_and(|folder| folder.parent_folder_id == *scope);
            if is_listed || !is_here {
                continue;
            }
            if self.fetching.is_newer_folder(&id, seq) {
                self.list_folder(&id, scope);
            } else {
                self.forget_folder(&id);
            }
        }
        self.sort_folders(scope);
    }

    /// The first threads of a place, and how many more there are. Those that were loaded beyond them stay.
    fn take_threads(&mut self, scope: &Scope, threads: Vec<ThreadSummary>, missing: u64, seq: Sequence) {
        let Some(place) = self.places.get_mut(scope) else { return };
        let last = threads.last().map(|thread| thread.id.clone());
        let before = std::mem::replace(&mut place.threads, threads);
        let is_beyond = |thread: &ThreadSummary| missing > 0 && Some(&thread.id) > last.as_ref();
        let was_paged = place.is_loaded && place.cursor > last;
        let mut kept = 0;
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
        if seq < place.threads_seq {
            place.cursor = None;
        } else if !(was_paged && missing > 0) {
            place.cursor = last;
        }
        // Not less than one where something is left out: only the last page says that nothing is.
        place.missing_threads = if missing > 0 { missing.saturating_sub(kept).max(1) } else { 0 };
        let here: Vec<ThreadId> = place.threads.iter().map(|thread| thread.id.clone()).collect();
        for id in here {
            self.place_thread(id, scope);
        }
    }

    /// A page of threads has come.
    pub fn page_loaded(&mut self, params: &ThreadListParams, page: ThreadListResult) {
        let scope = params.folder_id.clone();
        let asked_at = self.fetching.answered(&Wanted::Page(scope.clone()));
        if let Some(asked_at) = asked_at {
            self.take_page(&scope, params.after.as_ref(), page, asked_at);
            self.want_everything_if_filtered();
            self.fetching.forget_announcements_when_idle();
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
            // A page does not say for which change it is true.
            .filter(|thread| !self.fetching.is_newer_thread(&thread.id, asked_at))
            .collect();
        let ids: Vec<ThreadId> = threads.iter().map(|thread| thread.id.clone()).collect();
        let added = ids.iter().filter(|id| place.position(id).is_err()).count() as u64;
        let is_plain = place.threads.last().map(|thread| &thread.id) == after;
        if is_plain {
            place.threads.extend(threads);
        } else {
            threads.into_iter().for_each(|thread| place.put_thread(thread));
        }
        if asked_at >= place.threads_seq && place.cursor < last {
            place.cursor = last;
        }
        let left = place.missing_threads.saturating_sub(added).max(1);
        // Something may have come to the end of the list since.
        let is_all = page.next.is_none() && self.newest_change <= asked_at;
        place.missing_threads = if is_all { 0 } else { left };
        for id in ids {
            self.place_thread(id, scope);
        }
    }

    /// A folder that was asked for has come; none: there is no such folder any more.
    pub fn folder_loaded(&mut self, id: &FolderId, folder: Option<Folder>) {
        if let Some(asked_at) = self.fetching.answered(&Wanted::Folder(id.clone())) {
            match folder {
                None => self.forget_folder(id),
                // It was deleted since, or it is asked for once more.
                Some(_) if self.fetching.is_newer_folder(id, asked_at) => {}
                Some(folder) => self.take_folder(folder),
            }
            self.fetching.forget_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_folder(&mut self, folder: Folder) {
        let (id, parent) = (folder.id.clone(), folder.parent_folder_id.clone());
        match self.places.get_mut(&parent) {
            // It is where nobody has looked yet.
            None => self.forget_folder(&id),
            Some(place) if !place.has_all_folders() && !place.folders.contains(&id) => {
                place.missing_folders = place.missing_folders.max(1);
                let is_expanded = place.is_expanded;
                self.forget_folder(&id);
                if is_expanded {
                    self.fetching.want_part(parent);
                }
            }
            Some(_) => {
                let is_known = self.places.contains_key(&Some(id.clone()));
                self.put_folder(folder);
                self.list_folder(&id, &parent);
                if !is_known {
                    self.fetching.want_part(Some(id));
                }
            }
        }
    }

    /// A thread that was asked for has come; none: there is no such thread any more.
    pub fn thread_loaded(&mut self, id: &ThreadId, thread: Option<Thread>) {
        if let Some(asked_at) = self.fetching.answered(&Wanted::Thread(id.clone())) {
            let thread = thread.filter(|thread| thread.archived_at.is_none());
            match thread {
                None => self.forget_thread(id),
                // It was archived since, or it is asked for once more.
                Some(_) if self.fetching.is_newer_thread(id, asked_at) => {}
                Some(thread) => self.take_thread(thread),
            }
            self.fetching.forget_announcements_when_idle();
        }
        self.arrange();
    }

    fn take_thread(&mut self, thread: Thread) {
        let (id, scope) = (thread.id.clone(), thread.folder_id);
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
            // It is where nobody has looked yet.
            None => self.forget_thread(&id),
        }
    }

    /// Loads all that a filter has to look at.
    pub(super) fn want_everything(&mut self) {
        for (scope, place) in &self.places {
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

    fn place_thread(&mut self, id: ThreadId, scope: &Scope) {
        if let Some(before) = self.thread_places.insert(id.clone(), scope.clone())
            && &before != scope
            && let Some(place) = self.places.get_mut(&before)
        {
            place.remove_thread(&id);
        }
    }

    pub(super) fn forget_thread(&mut self, id: &ThreadId) {
        if let Some(scope) = self.thread_places.remove(id)
            && let Some(place) = self.places.get_mut(&scope)
        {
            place.remove_thread(id);
        }
    }

    /// Takes what is known of a folder, without listing it in its parent.
    fn put_folder(&mut self, folder: Folder) {
        let scope = Some(folder.id.clone());
        let before = self.places.get(&scope).map(Place::parent);
        if let Some(before) = before.filter(|before| *before != folder.parent_folder_id)
            && let Some(parent) = self.places.get_mut(&before)
        {
            parent.folders.retain(|id| *id != folder.id);
        }
        match self.places.get_mut(&scope) {
            Some(place) => place.folder = Some(folder),
            None => {
                self.places.insert(scope, Place::of(folder));
            }
        }
    }

    pub(super) fn list_folder(&mut self, id: &FolderId, parent: &Scope) {
        if let Some(place) = self.places.get_mut(parent)
            && !place.folders.contains(id)
        {
            place.folders.push(id.clone());
        }
        self.sort_folders(parent);
    }

    fn sort_folders(&mut self, scope: &Scope) {
        let Some(place) = self.places.get(scope) else { return };
        let mut folders = place.folders.clone();
        folders.sort_by_cached_key(|id| {
            let name = self.folder(id).map(|folder| folder.name.to_lowercase());
            (name.unwrap_or_default(), id.clone())
        });
        if let Some(place) = self.places.get_mut(scope) {
            place.folders = folders;
        }
    }

    /// Removes a folder and all that is known below it.
    pub(super) fn forget_folder(&mut self, id: &FolderId) {
        if let Some(parent) = self.places.get(&Some(id.clone())).map(Place::parent)
            && let Some(parent) = self.places.get_mut(&parent)
        {
            parent.folders.retain(|listed| listed != id);
        }
        let mut waiting = vec![id.clone()];
        while let Some(id) = waiting.pop() {
            let Some(place) = self.places.remove(&Some(id.clone())) else { continue };
            for thread in &place.threads {
                if self.thread_places.get(&thread.id) == Some(&Some(id.clone())) {
                    self.thread_places.remove(&thread.id);
                }
            }
            waiting.extend(place.folders);
        }
    }
}
