//! What happens when somebody else changes the document.

use std::time::Instant;

use client::{AUTOSAVE_AFTER, EditingCall, EditingStatus, Failure, Merged};
use protocol::{Document, Version};

use crate::model::{Editor, document};

const BASE: &str = "a\nb\nc\nd\ne\n";

/// An editor with local edits whose save meets another version.
fn conflict(local: &str, remote: Option<&Document>) -> (Editor, Instant) {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, BASE)));
    editing.edit(local, start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.conflicted(remote, start);
    (editing, start)
}

/// What is saved next, and over which version.
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
fn a_remote_change_under_local_edits_is_a_conflict_before_anything_is_saved() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    editing.edit("mine", start);
    editing.remote_changed(Some(&document(4, "theirs").summary()));
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(4, "theirs")), start);
    assert_eq!(editing.status(), EditingStatus::Conflict);
    assert_eq!((editing.base(), editing.text(), editing.remote()), ("a", "mine", Some(Some("theirs"))));
    assert_eq!((editing.poll(start + AUTOSAVE_AFTER), editing.wake_at()), (None, None));
    // It goes on under the conflict.
    editing.remote_changed(Some(&document(5, "theirs, too").summary()));
    editing.poll(start).unwrap();
    editing.fetched(Some(&document(5, "theirs, too")), start);
    assert_eq!(editing.remote(), Some(Some("theirs, too")));
    editing.edit("theirs, too", start);
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(5)));
}

#[test]
fn reload_takes_what_the_gateway_has_and_gives_the_local_text_back() {
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
fn an_archived_document_is_made_anew_or_given_up() {
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
fn a_merge_with_marks_is_saved_when_they_are_edited_away() {
    let (mut editing, now) = conflict("a\nmine\nc\nd\ne\n", Some(&document(5, "a\ntheirs\nc\nd\ne\n")));
    editing.take_merge(now);
    assert_eq!(editing.status(), EditingStatus::Unmerged);
    let later = now + AUTOSAVE_AFTER;
    assert_eq!((editing.poll(later), editing.wake_at()), (None, None));
    let mut asked = editing.clone();
    asked.save(later);
    assert!(next_save(&mut asked, later).unwrap().0.contains("<<<<<<< yours"), "the user's own wish");
    // What a crash leaves of it is not saved with its marks either.
    let mut again = Editor::open(editing.draft());
    again.poll(later).unwrap();
    again.fetched(Some(&document(5, "a\ntheirs\nc\nd\ne\n")), later);
    assert_eq!((again.status(), again.poll(later)), (EditingStatus::Unmerged, None));
    editing.edit("a\nmine, theirs\nc\nd\ne\n", later);
    let last = later + AUTOSAVE_AFTER;
    assert_eq!(next_save(&mut editing, last), Some(("a\nmine, theirs\nc\nd\ne\n".to_owned(), Version(5))));
}

#[test]
fn somebody_else_saving_the_same_text_is_no_conflict() {
    let (editing, _) = conflict("new", Some(&document(4, "new")));
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(4)));
}

#[test]
fn a_change_that_was_undone_is_no_conflict() {
    let (mut editing, now) = conflict("mine", Some(&document(5, BASE)));
    assert_eq!(editing.status(), EditingStatus::Unsaved);
    assert_eq!(next_save(&mut editing, now), Some(("mine".to_owned(), Version(5))));
}

#[test]
fn the_announcement_of_an_own_save_is_no_news_whenever_it_comes() {
    let start = Instant::now();
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
fn a_change_announced_while_the_document_is_fetched_is_fetched_again() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    editing.remote_changed(Some(&document(4, "b").summary()));
    editing.poll(start).unwrap();
    editing.remote_changed(Some(&document(5, "c").summary()));
    editing.fetched(Some(&document(4, "b")), start);
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(5, "c")), start);
    assert_eq!((editing.poll(start), editing.text()), (None, "c"));
}

#[test]
fn a_clean_merge_does_not_save_the_marks_of_one_before_it() {
    let (mut editing, now) = conflict("A\nb\nc\nd\ne\n", Some(&document(4, "a, too\nb\nc\nd\ne\n")));
    editing.take_merge(now);
    assert_eq!(editing.status(), EditingStatus::Unmerged);
    // Somebody saves elsewhere in the document.
    let theirs = document(5, "a, too\nb\nc\nd\nE\n");
    editing.remote_changed(Some(&theirs.summary()));
    editing.poll(now).unwrap();
    editing.fetched(Some(&theirs), now);
    assert!(matches!(editing.merged(), Some(Merged::Clean(_))), "{:?}", editing.merged());
    editing.take_merge(now);
    assert_eq!((editing.status(), editing.poll(now)), (EditingStatus::Unmerged, None));
    // Another try of something that failed is not the wish to save them either, and neither is overwriting.
    editing.retry(now);
    assert_eq!(editing.poll(now), None);
    editing.edit("A\nb\nc\nd\nE\n", now);
    editing.retry(now);
    assert_eq!(next_save(&mut editing, now), Some(("A\nb\nc\nd\nE\n".to_owned(), Version(5))));
}

#[test]
fn a_save_whose_answer_was_lost_is_no_conflict_with_oneself() {
    for comes_late in [false, true] {
        let now = Instant::now();
        let mut editing = Editor::new(Some(&document(3, "a")));
        editing.edit("b", now);
        editing.save(now);
        editing.poll(now).unwrap();
        let lost = Failure { message: "lost".to_owned(), is_transient: true, is_outcome_unknown: true };
        editing.failed(lost, now);
        editing.edit("b and more", now);
        assert_eq!(editing.poll(now), Some(EditingCall::Fetch), "first it is asked what is there");
        if comes_late {
            // It is committed only after this answer.
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
fn a_text_about_marks_is_saved_with_its_own() {
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
fn a_lost_save_that_met_another_version_is_over_with_the_choice() {
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
    // Somebody saves the very text that was lost: it is theirs, and not what this editor sent.
    editing.edit("another", start);
    editing.remote_changed(Some(&document(5, "mine").summary()));
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(5, "mine")), start);
    assert_eq!(editing.status(), EditingStatus::Conflict);
}
