//! Rows of a tree.

use std::time::{Duration, Instant};

use client::{DocumentState, Failure, LiveTree, RowKey, TreeRowKind};
use protocol::DocumentStatus::{Active, Draft};
use protocol::FolderId;

use crate::model::{Gateway, announce, drawn, open_all, serve, take, workspace};

fn loaded(gateway: &Gateway) -> LiveTree {
    let mut tree = LiveTree::new(workspace());
    assert!(!tree.is_loaded());
    serve(&mut tree, gateway);
    tree
}

fn sample() -> (Gateway, FolderId, FolderId) {
    let mut gateway = Gateway::new(100);
    let services = gateway.make_folder(None, "services");
    let api = gateway.make_folder(Some(services.clone()), "api");
    gateway.make_folder(None, "Docs");
    gateway.make_thread(None, "loose");
    gateway.make_thread(Some(api.clone()), "endpoints");
    gateway.make_thread(Some(services.clone()), "deploy");
    gateway.save_document(&None, Active);
    gateway.save_document(&Some(api.clone()), Draft);
    (gateway, services, api)
}

#[test]
fn folders_are_loaded_when_they_are_opened() {
    let (gateway, services, api) = sample();
    let mut tree = loaded(&gateway);
    assert_eq!(drawn(&tree), ["AGENTS.md Active", "Docs/", "services/", "loose"]);
    assert_eq!(tree.seq(), Some(gateway.seq()));
    tree.expand(&services);
    assert_eq!(drawn(&tree)[3..], [" deploy", " +0", "loose"], "its folders are on their way");
    serve(&mut tree, &gateway);
    assert_eq!(drawn(&tree)[3..], [" api/", " deploy", "loose"]);
    tree.expand(&api);
    assert_eq!(tree.poll(Instant::now()), None, "what came with the part above is not asked for again");
    assert_eq!(drawn(&tree)[3..], [" api/", "  AGENTS.md Draft", "  endpoints", " deploy", "loose"]);
    tree.collapse(&services);
    assert_eq!(tree.len(), 4);
    assert_eq!(tree.path(&Some(api)), ["services", "api"]);
}

#[test]
fn a_row_shows_where_its_instructions_come_from() {
    let (mut gateway, services, api) = sample();
    let mut tree = loaded(&gateway);
    open_all(&mut tree, &gateway);
    let root = None;
    let services = Some(services);
    let api = Some(api);
    assert_eq!(tree.document_state(&root), DocumentState::Active);
    assert_eq!(tree.document_state(&services), DocumentState::Inherited(None));
    assert_eq!(tree.document_state(&api), DocumentState::Draft);
    assert_eq!(tree.inherits_from(&api), Some(None));
    let known = gateway.log.len();
    gateway.save_document(&services, Active);
    gateway.archive_document(&root);
    gateway.log[known..].iter().for_each(|event| announce(&mut tree, event));
    assert_eq!(tree.poll(Instant::now()), None, "a notification has all that the row shows");
    assert_eq!(tree.inherits_from(&api), Some(services.clone()));
    assert_eq!(tree.document_state(&root), DocumentState::Missing);
    assert_eq!(drawn(&tree), gateway.rows());
}

#[test]
fn an_open_editor_has_a_row_without_a_document() {
    let (gateway, services, _) = sample();
    let mut tree = loaded(&gateway);
    let scope = Some(services.clone());
    tree.open_editor(scope.clone());
    tree.reveal(RowKey::Document(scope.clone()));
    serve(&mut tree, &gateway);
    assert_eq!(drawn(&tree)[3], " AGENTS.md Inherited(None)");
    assert_eq!(tree.selected_index(), Some(3));
    let Some(TreeRowKind::Document(row)) = tree.row(3).map(|row| row.kind) else { panic!() };
    assert!(row.is_open && row.summary.is_none());
    tree.close_editor(&scope);
    assert_eq!(tree.index_of(&RowKey::Document(scope)), None);
}

#[test]
fn a_filter_keeps_matches_and_their_ancestors() {
    let (gateway, services, _) = sample();
    let mut tree = loaded(&gateway);
    tree.set_filter(" Endp ");
    serve(&mut tree, &gateway);
    assert_eq!(drawn(&tree), ["services/", " api/", "  endpoints"], "found where nobody had looked");
    tree.set_filter("agents");
    assert_eq!(drawn(&tree), ["AGENTS.md Active", "services/", " api/", "  AGENTS.md Draft"]);
    tree.set_filter("services");
    assert_eq!(drawn(&tree), ["services/"], "a folder that matches opens as before");
    tree.expand(&services);
    assert_eq!(drawn(&tree), ["services/", " api/", " deploy"]);
    tree.set_filter("nothing");
    assert!(tree.is_empty());
    tree.set_filter("");
    assert_eq!(tree.len(), 6);
}

#[test]
fn keys_navigate_the_rows() {
    let (gateway, services, api) = sample();
    let mut tree = loaded(&gateway);
    tree.select_next();
    assert_eq!(tree.selected(), Some(&RowKey::Document(None)));
    tree.select_last();
    tree.select_next();
    assert_eq!(tree.selected_index(), Some(3));
    tree.select_previous();
    assert_eq!(tree.selected(), Some(&RowKey::Folder(services.clone())));
    tree.move_in();
    serve(&mut tree, &gateway);
    tree.move_in();
    assert_eq!(tree.selected(), Some(&RowKey::Folder(api)));
    tree.move_out();
    assert_eq!(tree.selected(), Some(&RowKey::Folder(services)));
    tree.move_out();
    assert_eq!(tree.len(), 4, "it is closed again");
}

#[test]
fn a_folder_cannot_be_moved_into_itself() {
    let (gateway, services, api) = sample();
    let mut tree = loaded(&gateway);
    open_all(&mut tree, &gateway);
    let thread = RowKey::Thread(gateway.threads.keys().next().unwrap().clone());
    assert!(tree.can_move(&thread, &Some(api.clone())) && !tree.can_move(&thread, &None));
    let folder = RowKey::Folder(services.clone());
    for (to, may) in [(None, false), (Some(services), false), (Some(api.clone()), false)] {
        assert_eq!(tree.can_move(&folder, &to), may, "{to:?}");
    }
    assert!(tree.can_move(&RowKey::Folder(api), &None));
    assert!(!tree.can_move(&RowKey::Document(None), &None));
}

fn failure(message: &str, is_transient: bool) -> Failure {
    Failure { message: message.to_owned(), is_transient, is_outcome_unknown: false }
}

#[test]
fn transient_failures_are_retried_automatically() {
    let (gateway, ..) = sample();
    let mut tree = LiveTree::new(workspace());
    let start = Instant::now();
    let request = tree.poll(start).unwrap();
    tree.request_failed(&request, failure("busy", true), start);
    assert_eq!((tree.poll(start), tree.problem()), (None, Some("busy")));
    let first = tree.wake_at().unwrap();
    assert_eq!(tree.poll(first), Some(request.clone()));
    assert_eq!((tree.problem(), tree.wake_at()), (Some("busy"), None), "it is not mended yet");
    tree.request_failed(&request, failure("still busy", true), first);
    let second = tree.wake_at().unwrap();
    assert!(second - first > first - start, "each pause is longer");
    let request = tree.poll(second).unwrap();
    take(&mut tree, gateway.answer(request));
    assert!(tree.is_loaded());
    assert_eq!((tree.problem(), tree.wake_at()), (None, None));
}

#[test]
fn permanent_failures_wait_for_the_user() {
    let (mut gateway, services, _) = sample();
    let mut tree = loaded(&gateway);
    let now = Instant::now();
    let known = gateway.log.len();
    gateway.rename_folder(&services, "renamed");
    announce(&mut tree, &gateway.log[known]);
    let request = tree.poll(now).unwrap();
    tree.request_failed(&request, failure("forbidden", false), now);
    let later = now + Duration::from_secs(3_600);
    assert_eq!((tree.poll(later), tree.wake_at(), tree.problem()), (None, None, Some("forbidden")));
    tree.retry();
    serve(&mut tree, &gateway);
    assert_eq!((tree.problem(), tree.path(&Some(services))), (None, vec!["renamed"]));
}

#[test]
fn many_threads_need_few_requests_and_runs() {
    let mut gateway = Gateway::new(100_000);
    let large = gateway.make_folder(None, "large");
    for number in 0..100_000 {
        gateway.make_thread(Some(large.clone()), &format!("thread {number}"));
    }
    let mut tree = loaded(&gateway);
    tree.expand(&large);
    serve(&mut tree, &gateway);
    assert_eq!(tree.len(), 1 + 200 + 1, "a part of them is enough to begin with");
    let mut requests = 0;
    while let Some(RowKey::More(_)) = tree.row(tree.len() - 1).map(|row| row.key()) {
        // Only the last rows are on the screen, so each round loads a single page.
        tree.shown(tree.len() - 30..tree.len());
        serve(&mut tree, &gateway);
        requests += 1;
    }
    assert_eq!((tree.len(), requests), (100_001, 200));
    assert_eq!(tree.run_count(), 2, "all threads of a folder are found together");
    let last = tree.row(100_000).unwrap();
    assert!(matches!(&last.kind, TreeRowKind::Thread(thread) if thread.title == "thread 99999"));
    assert_eq!(tree.index_of(&last.key()), Some(100_000));
}

#[test]
fn many_changes_cause_a_reload_in_parts() {
    let mut gateway = Gateway::new(1_000);
    let mut tree = loaded(&gateway);
    for number in 0..500 {
        gateway.make_thread(None, &format!("thread {number}"));
    }
    gateway.log.clone().iter().for_each(|event| announce(&mut tree, event));
    let mut requests = 0;
    while let Some(request) = tree.poll(Instant::now()) {
        requests += 1;
        crate::model::take(&mut tree, gateway.answer(request));
    }
    assert!(requests < 100, "{requests}");
    open_all(&mut tree, &gateway);
    assert_eq!(drawn(&tree), gateway.rows());
}

#[test]
fn deep_trees_are_supported() {
    let mut gateway = Gateway::new(100);
    let mut folders: Vec<FolderId> = Vec::new();
    for level in 0..1_000 {
        folders.push(gateway.make_folder(folders.last().cloned(), &format!("level {level}")));
    }
    let deepest = folders.last().cloned();
    gateway.make_thread(deepest.clone(), "at the bottom");
    let mut tree = loaded(&gateway);
    for folder in &folders {
        tree.expand(folder);
        serve(&mut tree, &gateway);
    }
    assert_eq!((tree.len(), tree.path(&deepest).len()), (1_001, 1_000));
    assert_eq!(tree.row(1_000).unwrap().depth, 1_000);
    tree.set_filter("bottom");
    assert_eq!(tree.len(), 1_001, "a match is shown with everything above it");
}
