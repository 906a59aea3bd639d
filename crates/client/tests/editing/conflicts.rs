//! Conflicts with changes made elsewhere.

use std::time::Instant;

use client::{AUTOSAVE_AFTER, EditingCall, EditingStatus, Failure, Merged};
use protocol::{Document, Version};

use crate::model::{Editor, document};

const BASE: &str = "a\nb\nc\nd\ne\n";

/// Returns an editor whose save of local edits conflicts.
fn conflict(local: &str, remote: Option<&Document>) -> (Editor, Instant) {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, BASE)));
    editing.edit(local, start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.conflicted(remote, start);
    (editing, start)
}

/// Returns the text and expected version of the next save.
fn next_save(editing: &mut Editor, now: Instant) -> Option<(String, Version)> {
    match editing.poll(now)? {
        EditingCall::Save(save) => Some((save.content, save.expected_version)),
        EditingCall::Fetch => panic!("nothing was announced"),
    }
}

#[test]
fn a_remote_change_under_a_clean_editor_is_followed() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    editing.remote_changed(Some(&document(3, "a").summary()));
    assert_eq!(editing.poll(start), None, "that version is known");
    editing.remote_changed(Some(&document(4, "b").summary()));
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(4, "b")), start);
    assert_eq!((editing.text(), editing.text_epoch(), editing.status()), ("b", 1, EditingStatus::Saved));
    editing.remote_changed(None);
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(None, start);
    assert_eq!((editing.text(), editing.version()), ("", Version(0)));
}

#[test]
fn a_remote_change_under_local_edits_is_a_conflict() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    editing.edit("mine", start);
    editing.remote_changed(Some(&document(4, "theirs").summary()));
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(4, "theirs")), start);
    assert_eq!(editing.status(), EditingStatus::Conflict);
    assert_eq!((editing.base(), editing.text(), editing.remote()), ("a", "mine", Some(Some("theirs"))));
    assert_eq!((editing.poll(start + AUTOSAVE_AFTER), editing.wake_at()), (None, None));
    // The remote document may change again during the conflict.
    editing.remote_changed(Some(&document(5, "theirs, too").summary()));
    editing.poll(start).unwrap();
    editing.fetched(Some(&document(5, "theirs, too")), start);
    assert_eq!(editing.remote(), Some(Some("theirs, too")));
    editing.edit("theirs, too", start);
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(5)));
}

#[test]
fn reload_adopts_the_remote_text_and_returns_the_local_one() {
    let (mut editing, now) = conflict("mine", Some(&document(5, "theirs")));
    assert_eq!(editing.take_remote().as_deref(), Some("mine"));
    assert_eq!((editing.text(), editing.status()), ("theirs", EditingStatus::Saved));
    assert_eq!((editing.poll(now), editing.take_remote()), (None, None));
}

#[test]
fn overwrite_saves_over_what_the_gateway_has() {
    let (mut editing, now) = conflict("mine", Some(&document(5, "theirs")));
    editing.overwrite_remote(now);
    assert_eq!(next_save(&mut editing, now), Some(("mine".to_owned(), Version(5))));
}

#[test]
fn an_archived_document_is_recreated_or_dropped() {
    let (mut editing, now) = conflict("mine", None);
    assert_eq!(editing.remote(), Some(None));
    let mut given_up = editing.clone();
    assert_eq!(given_up.take_remote().as_deref(), Some("mine"));
    assert_eq!((given_up.text(), given_up.status()), ("", EditingStatus::Saved));
    editing.overwrite_remote(now);
    assert_eq!(next_save(&mut editing, now), Some(("mine".to_owned(), Version(0))));
}

#[test]
fn a_clean_merge_is_saved() {
    let (mut editing, now) = conflict("A\nb\nc\nd\ne\n", Some(&document(5, "a\nb\nc\nd\nE\n")));
    assert!(matches!(editing.merged(), Some(Merged::Clean(_))));
    editing.take_merge(now);
    assert_eq!(editing.text_epoch(), 1);
    assert_eq!(next_save(&mut editing, now), Some(("A\nb\nc\nd\nE\n".to_owned(), Version(5))));
}

#[test]
fn a_merge_with_markers_is_saved_once_they_are_removed() {
    let (mut editing, now) = conflict("a\nmine\nc\nd\ne\n", Some(&document(5, "a\ntheirs\nc\nd\ne\n")));
    editing.take_merge(now);
    assert_eq!(editing.status(), EditingStatus::Unmerged);
    let later = now + AUTOSAVE_AFTER;
    assert_eq!((editing.poll(later), editing.wake_at()), (None, None));
    let mut asked = editing.clone();
    asked.save(later);
    assert!(next_save(&mut asked, later).unwrap().0.contains("<<<<<<< yours"), "the user asked for it");
    // A draft restored after a crash must not be saved with its markers either.
    let mut again = Editor::open(editing.draft());
    again.poll(later).unwrap();
    again.fetched(Some(&document(5, "a\ntheirs\nc\nd\ne\n")), later);
    assert_eq!((again.status(), again.poll(later)), (EditingStatus::Unmerged, None));
    editing.edit("a\nmine, theirs\nc\nd\ne\n", later);
    let last = later + AUTOSAVE_AFTER;
    assert_eq!(next_save(&mut editing, last), Some(("a\nmine, theirs\nc\nd\ne\n".to_owned(), Version(5))));
}

#[test]
fn an_identical_remote_save_is_not_a_conflict() {
    // Both users typed the same text, so there is nothing to resolve.
    let (editing, _) = conflict("new", Some(&document(4, "new")));
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(4)));
}

#[test]
fn a_reverted_remote_change_is_not_a_conflict() {
    // The other user undid the change, so only the version differs.
    let (mut editing, now) = conflict("mine", Some(&document(5, BASE)));
    assert_eq!(editing.status(), EditingStatus::Unsaved);
    assert_eq!(next_save(&mut editing, now), Some(("mine".to_owned(), Version(5))));
}

#[test]
fn the_announcement_of_an_own_save_is_ignored() {
    let start = Instant::now();
    // The announcement and the answer travel independently, so both orders occur.
    for before_the_answer in [true, false] {
        let mut editing = Editor::new(None);
        editing.edit("a", start);
        editing.save(start);
        editing.poll(start).unwrap();
        let saved = document(1, "a");
        if before_the_answer {
            editing.remote_changed(Some(&saved.summary()));
            editing.saved(&saved, start);
        } else {
            editing.saved(&saved, start);
            editing.remote_changed(Some(&saved.summary()));
        }
        assert_eq!((editing.poll(start), editing.is_settled()), (None, true));
    }
}

#[test]
fn a_change_announced_during_a_fetch_is_fetched_again() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    editing.remote_changed(Some(&document(4, "b").summary()));
    editing.poll(start).unwrap();
    // This change is announced while the answer with the previous version is in flight.
    editing.remote_changed(Some(&document(5, "c").summary()));
    editing.fetched(Some(&document(4, "b")), start);
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(5, "c")), start);
    assert_eq!((editing.poll(start), editing.text()), (None, "c"));
}

#[test]
fn a_clean_merge_does_not_save_earlier_markers() {
    let (mut editing, now) = conflict("A\nb\nc\nd\ne\n", Some(&document(4, "a, too\nb\nc\nd\ne\n")));
    editing.take_merge(now);
    assert_eq!(editing.status(), EditingStatus::Unmerged);
    // Another user saves a different part of the document.
    let theirs = document(5, "a, too\nb\nc\nd\nE\n");
    editing.remote_changed(Some(&theirs.summary()));
    editing.poll(now).unwrap();
    editing.fetched(Some(&theirs), now);
    assert!(matches!(editing.merged(), Some(Merged::Clean(_))), "{:?}", editing.merged());
    editing.take_merge(now);
    assert_eq!((editing.status(), editing.poll(now)), (EditingStatus::Unmerged, None));
    // Neither retrying nor overwriting counts as a request to save the markers.
    editing.retry(now);
    assert_eq!(editing.poll(now), None);
    editing.edit("A\nb\nc\nd\nE\n", now);
    editing.retry(now);
    assert_eq!(next_save(&mut editing, now), Some(("A\nb\nc\nd\nE\n".to_owned(), Version(5))));
}

#[test]
fn a_repeated_save_does_not_conflict_with_itself() {
    for comes_late in [false, true] {
        let now = Instant::now();
        let mut editing = Editor::new(Some(&document(3, "a")));
        editing.edit("b", now);
        editing.save(now);
        editing.poll(now).unwrap();
        let lost = Failure { message: "lost".to_owned(), is_transient: true, is_outcome_unknown: true };
        editing.failed(lost, now);
        editing.edit("b and more", now);
        assert_eq!(editing.poll(now), Some(EditingCall::Fetch), "the current document is fetched first");
        if comes_late {
            // The save is committed only after this answer.
            editing.fetched(Some(&document(3, "a")), now);
            editing.retry(now);
            editing.poll(now).unwrap();
            editing.conflicted(Some(&document(4, "b")), now);
        } else {
            editing.fetched(Some(&document(4, "b")), now);
        }
        assert_eq!((editing.status(), editing.version()), (EditingStatus::Unsaved, Version(4)));
        editing.retry(now);
        assert_eq!(next_save(&mut editing, now), Some(("b and more".to_owned(), Version(4))));
    }
}

#[test]
fn a_text_about_markers_keeps_its_own() {
    // The document explains conflict markers, so its own lines look exactly like those of a merge.
    let about = "a\n<<<<<<< yours\n=======\n>>>>>>> theirs\n";
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(1, about)));
    editing.edit(format!("{about}mine\n"), start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.conflicted(Some(&document(2, &format!("{about}theirs\n"))), start);
    editing.take_merge(start);
    assert_eq!(editing.status(), EditingStatus::Unmerged);
    let later = start + AUTOSAVE_AFTER;
    editing.edit(format!("{about}mine, theirs\n"), start);
    assert_eq!(next_save(&mut editing, later), Some((format!("{about}mine, theirs\n"), Version(2))));
}

#[test]
fn resolving_a_conflict_settles_a_lost_save() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, BASE)));
    editing.edit("mine", start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.disconnected();
    editing.reconnected(start);
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(4, "theirs")), start);
    assert_eq!(editing.status(), EditingStatus::Conflict);
    editing.take_remote();
    assert!(editing.is_settled());
    // The same text saved by another user is theirs, not the lost save.
    editing.edit("another", start);
    editing.remote_changed(Some(&document(5, "mine").summary()));
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(5, "mine")), start);
    assert_eq!(editing.status(), EditingStatus::Conflict);
}
