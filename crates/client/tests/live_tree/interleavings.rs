//! A tree that others change while it loads: under every order of requests, answers and notifications it converges to the
//! gateway's state.

use std::time::{Duration, Instant};

use client::{Failure, LiveTree, Scope, TreeRequest};
use proptest::prelude::*;
use proptest::sample::Index;
use protocol::DocumentStatus::{Active, Draft};
use protocol::Sequence;

use crate::model::{Answer, Gateway, announce, drawn, open_all, take, workspace};

#[derive(Debug, Clone)]
enum Step {
    MakeFolder(Index),
    MakeThread(Index),
    RenameFolder(Index),
    RenameThread(Index),
    MoveFolder(Index, Index),
    MoveThread(Index, Index),
    DeleteFolder(Index),
    ArchiveThread(Index),
    SaveDocument(Index, bool),
    ArchiveDocument(Index),
    Toggle(Index),
    Filter(bool),
    ShowAll,
    /// A request is sent.
    Ask,
    /// The gateway executes one of the requests.
    Handle(Index),
    /// One of the answers arrives.
    Answer(Index),
    /// One of the requests fails, temporarily or permanently.
    Fail(Index, bool),
    Wait(u64),
    /// The connection is lost with everything in flight.
    Lose,
    Announce,
    /// The gateway's log was pruned, so everything is reloaded.
    Prune,
}

struct World {
    gateway: Gateway,
    tree: LiveTree,
    requests: Vec<TreeRequest>,
    answers: Vec<Answer>,
    /// Last announced change. `None` until the tree returns the change to follow from.
    heard: Option<Sequence>,
    names: u64,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let gateway = Gateway::new(2);
        let tree = LiveTree::new(workspace());
        let now = Instant::now();
        Self { gateway, tree, requests: Vec::new(), answers: Vec::new(), heard: None, names: 0, now }
    }

    fn scope(&self, index: &Index) -> Scope {
        let mut scopes: Vec<Scope> = vec![None];
        scopes.extend(self.gateway.folders.keys().cloned().map(Some));
        index.get(&scopes).clone()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn step(&mut self, step: &Step) {
        let name = self.name();
        let folders: Vec<_> = self.gateway.folders.keys().cloned().collect();
        let threads: Vec<_> = self.gateway.threads.keys().cloned().collect();
        let folder = |index: &Index| (!folders.is_empty()).then(|| index.get(&folders).clone());
        let thread = |index: &Index| (!threads.is_empty()).then(|| index.get(&threads).clone());
        match step {
            Step::MakeFolder(at) => {
                let scope = self.scope(at);
                self.gateway.make_folder(scope, &name);
            }
            Step::MakeThread(at) => {
                let scope = self.scope(at);
                self.gateway.make_thread(scope, &name);
            }
            Step::RenameFolder(at) => {
                folder(at).iter().for_each(|id| self.gateway.rename_folder(id, &name));
            }
            Step::RenameThread(at) => {
                thread(at).iter().for_each(|id| self.gateway.rename_thread(id, &name));
            }
            Step::MoveFolder(at, to) => {
                let to = self.scope(to);
                folder(at).iter().for_each(|id| self.gateway.move_folder(id, to.clone()));
            }
            Step::MoveThread(at, to) => {
                let to = self.scope(to);
                thread(at).iter().for_each(|id| self.gateway.move_thread(id, to.clone()));
            }
            Step::DeleteFolder(at) => folder(at).iter().for_each(|id| self.gateway.delete_folder(id)),
            Step::ArchiveThread(at) => thread(at).iter().for_each(|id| self.gateway.archive_thread(id)),
            Step::SaveDocument(at, is_draft) => {
                let scope = self.scope(at);
                self.gateway.save_document(&scope, if *is_draft { Draft } else { Active });
            }
            Step::ArchiveDocument(at) => {
                let scope = self.scope(at);
                self.gateway.archive_document(&scope);
            }
            Step::Toggle(at) => folder(at).iter().for_each(|id| self.tree.toggle(id)),
            Step::Filter(is_on) => self.tree.set_filter(if *is_on { "n1" } else { "" }),
            Step::ShowAll => self.tree.shown(0..self.tree.len()),
            Step::Ask => self.requests.extend(self.tree.poll(self.now)),
            Step::Handle(at) => {
                if !self.requests.is_empty() {
                    self.handle(at.index(self.requests.len()));
                }
            }
            Step::Answer(at) => {
                if !self.answers.is_empty() {
                    self.answer(at.index(self.answers.len()));
                }
            }
            Step::Lose => {
                let answers = self.answers.drain(..).map(|answer| match answer {
                    Answer::Part(params, _) => TreeRequest::Part(params),
                    Answer::Page(params, _) => TreeRequest::Page(params),
                    Answer::Folder(folder_id, _) => {
                        let workspace_id = workspace();
                        TreeRequest::Folder(protocol::method::FolderGetParams { workspace_id, folder_id })
                    }
                    Answer::Thread(thread_id, _) => {
                        let workspace_id = workspace();
                        TreeRequest::Thread(protocol::method::ThreadGetParams { workspace_id, thread_id })
                    }
                });
                let lost: Vec<TreeRequest> = answers.chain(self.requests.drain(..)).collect();
                lost.iter().for_each(|request| self.fail(request, true));
                self.tree.retry();
            }
            Step::Fail(at, is_transient) => {
                if !self.requests.is_empty() {
                    let request = self.requests.remove(at.index(self.requests.len()));
                    self.fail(&request, *is_transient);
                }
            }
            Step::Wait(milliseconds) => self.now += Duration::from_millis(*milliseconds),
            Step::Announce => self.announce(),
            Step::Prune => {
                self.heard = None;
                self.tree.reload();
            }
        }
        // The owner follows the workspace from the change in the first part.
        if self.heard.is_none() {
            self.heard = self.tree.seq();
        }
        // Rows may be drawn at any time, so drawing must never panic.
        drawn(&self.tree);
    }

    fn handle(&mut self, index: usize) {
        let request = self.requests.remove(index);
        self.answers.push(self.gateway.answer(request));
    }

    fn answer(&mut self, index: usize) {
        let answer = self.answers.remove(index);
        take(&mut self.tree, answer);
    }

    fn fail(&mut self, request: &TreeRequest, is_transient: bool) {
        let failure = Failure { message: "no".to_owned(), is_transient, is_outcome_unknown: is_transient };
        self.tree.request_failed(request, failure, self.now);
    }

    fn announce(&mut self) {
        if let Some(heard) = &mut self.heard
            && let Some(event) = self.gateway.log.get(usize::try_from(heard.0).unwrap())
        {
            heard.0 += 1;
            announce(&mut self.tree, event);
        }
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.step(&Step::Ask);
            if !self.requests.is_empty() {
                self.handle(0);
            }
            if !self.answers.is_empty() {
                self.answer(0);
            }
            self.step(&Step::Announce);
            let is_at_rest =
                self.requests.is_empty() && self.answers.is_empty() && self.heard == Some(self.gateway.seq());
            // Transient failures only need time, permanent ones a retry by the user.
            match self.tree.wake_at() {
                Some(at) => self.now = self.now.max(at),
                None if self.requests.is_empty() && self.answers.is_empty() => self.tree.retry(),
                None => {}
            }
            if is_at_rest {
                let next = self.tree.poll(self.now);
                if next.is_none() {
                    assert_eq!((self.tree.problem(), self.tree.wake_at()), (None, None));
                    return;
                }
                self.requests.extend(next);
            }
        }
        panic!("no rest");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        3 => index().prop_map(Step::MakeFolder),
        4 => index().prop_map(Step::MakeThread),
        1 => index().prop_map(Step::RenameFolder),
        1 => index().prop_map(Step::RenameThread),
        2 => (index(), index()).prop_map(|(at, to)| Step::MoveFolder(at, to)),
        2 => (index(), index()).prop_map(|(at, to)| Step::MoveThread(at, to)),
        1 => index().prop_map(Step::DeleteFolder),
        1 => index().prop_map(Step::ArchiveThread),
        2 => (index(), any::<bool>()).prop_map(|(at, is_draft)| Step::SaveDocument(at, is_draft)),
        1 => index().prop_map(Step::ArchiveDocument),
        3 => index().prop_map(Step::Toggle),
        1 => any::<bool>().prop_map(Step::Filter),
        1 => Just(Step::ShowAll),
        5 => Just(Step::Ask),
        5 => index().prop_map(Step::Handle),
        5 => index().prop_map(Step::Answer),
        1 => (index(), any::<bool>()).prop_map(|(at, is_transient)| Step::Fail(at, is_transient)),
        1 => prop_oneof![1..300_u64, 1_000..6_000_u64].prop_map(Step::Wait),
        1 => Just(Step::Lose),
        6 => Just(Step::Announce),
        1 => Just(Step::Prune),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_converges_to_the_gateways_tree(steps in proptest::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        // A filter hides rows, and the comparison needs all of them.
        world.tree.set_filter("");
        world.settle();
        open_all(&mut world.tree, &world.gateway);
        prop_assert_eq!(drawn(&world.tree), world.gateway.rows());
    }
}

/// Loads the gateway's complete tree.
fn whole(gateway: &Gateway) -> LiveTree {
    let mut tree = LiveTree::new(workspace());
    open_all(&mut tree, gateway);
    assert_eq!(drawn(&tree), gateway.rows());
    tree
}

fn announce_since(tree: &mut LiveTree, gateway: &Gateway, known: usize) {
    gateway.log[known..].iter().for_each(|event| announce(tree, event));
}

#[test]
fn threads_of_a_deleted_folder_join_the_loaded_ones() {
    // An answer holds only two threads, so those of the folder sort between loaded and missing ones.
    let mut gateway = Gateway::new(2);
    let folder = gateway.make_folder(None, "folder");
    for (scope, title) in [(Some(&folder), "a"), (None, "b"), (Some(&folder), "c"), (None, "d")] {
        gateway.make_thread(scope.cloned(), title);
    }
    let mut tree = whole(&gateway);
    let known = gateway.log.len();
    gateway.delete_folder(&folder);
    gateway.make_thread(None, "e");
    announce_since(&mut tree, &gateway, known);
    open_all(&mut tree, &gateway);
    assert_eq!(drawn(&tree), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_page_from_before_a_deletion_hides_no_threads() {
    let mut gateway = Gateway::new(2);
    let folder = gateway.make_folder(None, "folder");
    for (scope, title) in [(Some(&folder), "a"), (None, "b"), (Some(&folder), "c"), (None, "d"), (None, "e")]
    {
        gateway.make_thread(scope.cloned(), title);
    }
    let mut tree = LiveTree::new(workspace());
    let part = tree.poll(Instant::now()).unwrap();
    take(&mut tree, gateway.answer(part));
    // The first part left threads out. Showing the row that stands for them requests the next page.
    tree.shown(0..tree.len());
    let page = tree.poll(Instant::now()).unwrap();
    assert!(matches!(page, TreeRequest::Page(_)), "{page:?}");
    let page = gateway.answer(page);
    let known = gateway.log.len();
    gateway.delete_folder(&folder);
    announce_since(&mut tree, &gateway, known);
    let part = tree.poll(Instant::now()).unwrap();
    take(&mut tree, gateway.answer(part));
    // The page was read before the deletion but arrives after the part that was read later.
    take(&mut tree, page);
    open_all(&mut tree, &gateway);
    assert_eq!(drawn(&tree), ["a", "b", "c", "d", "e"]);
}

#[test]
fn threads_of_a_moved_and_deleted_folder_are_found() {
    let mut gateway = Gateway::new(100);
    let [from, to] = ["from", "to"].map(|name| gateway.make_folder(None, name));
    let folder = gateway.make_folder(Some(from), "folder");
    gateway.make_thread(Some(folder.clone()), "thread");
    let mut tree = whole(&gateway);
    let known = gateway.log.len();
    gateway.move_folder(&folder, Some(to));
    gateway.delete_folder(&folder);
    announce_since(&mut tree, &gateway, known);
    open_all(&mut tree, &gateway);
    assert_eq!(drawn(&tree), ["from/", "to/", " thread"]);
}

#[test]
fn an_old_answer_does_not_revive_deleted_items() {
    let mut gateway = Gateway::new(100);
    let folder = gateway.make_folder(None, "folder");
    let thread = gateway.make_thread(None, "thread");
    let mut tree = whole(&gateway);
    let known = gateway.log.len();
    gateway.rename_folder(&folder, "renamed");
    gateway.rename_thread(&thread, "renamed");
    announce_since(&mut tree, &gateway, known);
    // Both answers are read before the items are deleted, and delivered afterwards.
    let requests = [tree.poll(Instant::now()).unwrap(), tree.poll(Instant::now()).unwrap()];
    let before = requests.map(|request| gateway.answer(request));
    let known = gateway.log.len();
    gateway.archive_thread(&thread);
    gateway.delete_folder(&folder);
    announce_since(&mut tree, &gateway, known);
    open_all(&mut tree, &gateway);
    before.into_iter().for_each(|answer| take(&mut tree, answer));
    open_all(&mut tree, &gateway);
    assert!(tree.is_empty(), "{:?}", drawn(&tree));
}
