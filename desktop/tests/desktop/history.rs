//! History and effective documents.

use desktop::Subject;
use desktop::views::effective::CandidateStatus;
use desktop::views::{EffectiveView, HistoryView};
use gpui_kit::prelude::*;
use gpui_kit::test::TestWindowExt as _;
use gpui_kit::{Focusable as _, TestAppContext};
use protocol::method::{DocumentArchive, DocumentArchiveParams, FolderCreate, FolderCreateParams};
use protocol::{RevisionReason, Version};

use crate::stage::Stage;

#[gpui_kit::test]
fn revision_is_compared_and_restored(cx: &mut TestAppContext) {
    let stage = Stage::new();
    for text in ["one\n", "one\ntwo\n", "one\nthree\n"] {
        stage.save(None, text);
    }
    let opened =
        stage.open(cx, |session, window, cx| cx.new(|cx| HistoryView::new(session, None, window, cx)));
    opened.until(cx, |view| view.shown() == Some((Some(Version(2)), Version(3))));
    opened.until_says(cx, "compared", "From version 2 to version 3");
    // Any two versions can be compared, here the first and the last.
    opened.click(cx, ("base", 1_usize));
    opened.until(cx, |view| view.shown() == Some((Some(Version(1)), Version(3))));
    // Arrow keys move through the list. The first version has no predecessor.
    cx.update_window(opened.window, |_, window, cx| {
        opened.view.read(cx).focus_handle(cx).focus(window, cx);
        window.render_frame(cx);
        window.press("down", cx);
    })
    .unwrap();
    opened.until(cx, |view| view.shown() == Some((Some(Version(1)), Version(2))));
    opened.click(cx, ("revision", 1_usize));
    opened.until(cx, |view| view.shown() == Some((None, Version(1))));
    opened.click(cx, "restore");
    opened.until(cx, |view| view.revisions().len() == 4 && view.message().is_some());
    opened.until_says(cx, "message", "Version 1 is current again, as version 4.");
    let newest = opened.view.read_with(cx, |view, _| view.revisions()[0].clone());
    assert_eq!((newest.save_reason, newest.restored_from), (RevisionReason::Restore, Some(Version(1))));
}

#[gpui_kit::test]
fn restore_over_an_unseen_version_is_refused(cx: &mut TestAppContext) {
    let stage = Stage::new();
    stage.save(None, "one\n");
    stage.save(None, "two\n");
    let opened =
        stage.open(cx, |session, window, cx| cx.new(|cx| HistoryView::new(session, None, window, cx)));
    opened.until(cx, |view| view.shown().is_some());
    opened.click(cx, ("revision", 1_usize));
    // Another client saves. Its notification may have reached this process already, but the view cannot
    // handle it before the click, because the test controls its executor.
    stage.save(None, "three\n");
    assert_eq!(opened.view.read_with(cx, |view, _| view.revisions().len()), 2);
    cx.update_window(opened.window, |_, window, cx| {
        opened.view.update(cx, |view, cx| view.restore(cx));
        window.render_frame(cx);
    })
    .unwrap();
    opened.until_words(cx, "message", |words| words.starts_with("Someone saved version 3"));
    opened.until(cx, |view| view.revisions().len() == 3);
    let texts: Vec<RevisionReason> =
        opened.view.read_with(cx, |view, _| view.revisions().iter().map(|it| it.save_reason).collect());
    assert!(!texts.contains(&RevisionReason::Restore), "nothing was restored: {texts:?}");
}

#[gpui_kit::test]
fn archived_document_is_restored_from_history(cx: &mut TestAppContext) {
    let stage = Stage::new();
    stage.save(None, "one\n");
    let params = DocumentArchiveParams {
        workspace_id: stage.workspace_id.clone(),
        folder_id: None,
        expected_version: None,
    };
    assert!(stage.call::<DocumentArchive>(&params).archived);
    let opened =
        stage.open(cx, |session, window, cx| cx.new(|cx| HistoryView::new(session, None, window, cx)));
    opened.until(cx, |view| view.revisions().len() == 2);
    opened.click(cx, ("revision", 1_usize));
    opened.until(cx, |view| view.shown() == Some((None, Version(1))));
    opened.click(cx, "restore");
    opened.until(cx, |view| view.revisions().len() == 3);
}

#[gpui_kit::test]
fn empty_history_has_a_placeholder(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let opened =
        stage.open(cx, |session, window, cx| cx.new(|cx| HistoryView::new(session, None, window, cx)));
    let view = opened.view.clone();
    crate::stage::until(cx, |cx| view.read(cx).is_loaded());
    opened.until_words(cx, "placeholder", |words| words.starts_with("Nothing was saved here yet."));
}

#[gpui_kit::test]
fn nearest_document_applies_and_hides_the_others(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let folder = |parent, name: &str| {
        let params = FolderCreateParams {
            workspace_id: stage.workspace_id.clone(),
            parent_folder_id: parent,
            name: name.to_owned(),
        };
        stage.call::<FolderCreate>(&params).folder.id
    };
    let services = folder(None, "services");
    let api = folder(Some(services.clone()), "api");
    stage.save(None, "Root rules.\n");
    stage.save(Some(&services), "Service rules.\n");
    stage.save(Some(&api), " \n");
    let opened = stage.open(cx, |session, window, cx| {
        let subject = Subject::Scope(Some(api.clone()));
        cx.new(|cx| EffectiveView::new(session, subject, window, cx))
    });
    opened.until(cx, |view| view.effective().is_some());
    let standings: Vec<CandidateStatus> = opened.view.read_with(cx, |view, _| {
        view.effective().unwrap().candidates.iter().map(|candidate| candidate.status).collect()
    });
    assert_eq!(standings, [CandidateStatus::Draft, CandidateStatus::Applies, CandidateStatus::Hidden]);
    opened.until_says(cx, "from", "It is inherited from services.");
    opened.until_words(cx, ("candidate", 2_usize), |words| words.contains("hidden by the nearer one"));
    opened.until_says(cx, "text", "Service rules.\n");
    // The view follows changes of others.
    stage.save(Some(&api), "API rules.\n");
    opened.until(cx, |view| {
        let resolved = view.effective().and_then(|effective| effective.resolved.as_ref());
        resolved.is_some_and(|resolved| !resolved.inherited)
    });
    opened.until_says(cx, "from", "It is defined here.");
}
