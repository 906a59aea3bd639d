//! Timing of saves and the status shown to the user.

use std::time::{Duration, Instant};

use client::{AUTOSAVE_AFTER, DraftChange, Editing, EditingCall, EditingStatus, Failure, LocalDraft, Save};
use protocol::{SaveReason, Version};

use crate::model::{Editor, document};

fn save(content: &str, expected_version: u64, reason: SaveReason) -> Option<EditingCall> {
    let content = content.to_owned();
    let expected_version = Version(expected_version);
    Some(EditingCall::Save(Save { content, expected_version, reason }))
}

fn save_of(content: &str, expected_version: u64) -> EditingCall {
    save(content, expected_version, SaveReason::Autosave).unwrap()
}

fn failure(is_transient: bool) -> Failure {
    Failure { message: "no".to_owned(), is_transient, is_outcome_unknown: false }
}

#[test]
fn a_text_is_saved_after_a_pause_in_typing() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(3, "a")));
    assert_eq!((editing.status(), editing.wake_at()), (EditingStatus::Saved, None));
    editing.edit("ab", start);
    let second = start + Duration::from_millis(500);
    editing.edit("abc", second);
    assert_eq!(editing.status(), EditingStatus::Unsaved);
    assert_eq!(editing.poll(start + AUTOSAVE_AFTER), None, "a key was pressed since");
    assert_eq!(editing.wake_at(), Some(second + AUTOSAVE_AFTER));
    assert_eq!(editing.poll(second + AUTOSAVE_AFTER), save("abc", 3, SaveReason::Autosave));
    assert_eq!((editing.status(), editing.wake_at()), (EditingStatus::Saving, None));
    editing.saved(&document(4, "abc"), second);
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(4)));
    assert!(editing.is_settled());
}

#[test]
fn typing_during_a_save_is_saved_next() {
    let start = Instant::now();
    let mut editing = Editor::new(None);
    editing.edit("a", start);
    editing.leave(start);
    assert_eq!(editing.poll(start), save("a", 0, SaveReason::Autosave), "leaving does not wait");
    editing.edit("ab", start);
    let later = start + AUTOSAVE_AFTER;
    assert_eq!(editing.poll(later), None, "one request at a time");
    editing.saved(&document(1, "a"), later);
    assert_eq!((editing.text(), editing.base()), ("ab", "a"));
    assert_eq!(editing.poll(later), save("ab", 1, SaveReason::Autosave));
}

#[test]
fn unchanged_text_is_not_saved() {
    let start = Instant::now();
    let mut editing = Editor::new(None);
    editing.edit("a", start);
    editing.edit("", start);
    editing.leave(start);
    editing.save(start);
    assert_eq!((editing.poll(start + AUTOSAVE_AFTER), editing.wake_at()), (None, None));
}

#[test]
fn line_endings_follow_the_gateway() {
    let start = Instant::now();
    let mut editing = Editor::new(None);
    // Pasted text may have CRLF line endings, whereas the gateway stores LF.
    editing.edit("a\r\n", start);
    editing.save(start);
    assert_eq!(editing.poll(start), save("a\r\n", 0, SaveReason::Manual));
    editing.saved(&document(1, "a\n"), start);
    assert_eq!((editing.text(), editing.text_epoch(), editing.status()), ("a\n", 1, EditingStatus::Saved));
    editing.edit("a\r\n", start);
    assert!(!editing.has_unsaved(), "the normalized text is the same");
}

#[test]
fn a_transient_save_failure_is_retried_automatically() {
    let start = Instant::now();
    let mut editing = Editor::new(None);
    editing.edit("a", start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.failed(failure(true), start);
    let retries_at = start + Duration::from_millis(200);
    let status = EditingStatus::Failed { message: "no".to_owned(), retries_at: Some(retries_at) };
    assert_eq!((editing.status(), editing.wake_at()), (status, Some(retries_at)));
    assert_eq!(editing.poll(start), None);
    assert_eq!(editing.poll(retries_at), save("a", 0, SaveReason::Autosave));
    editing.failed(failure(true), retries_at);
    assert_eq!(editing.wake_at(), Some(retries_at + Duration::from_millis(400)), "each pause is longer");
}

#[test]
fn a_permanent_save_failure_waits_for_the_user() {
    let start = Instant::now();
    let mut editing = Editor::new(None);
    editing.edit("a", start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.failed(failure(false), start);
    let later = start + Duration::from_secs(3600);
    assert_eq!((editing.poll(later), editing.wake_at()), (None, None));
    // A user without write access can still follow the document.
    editing.remote_changed(Some(&document(1, "theirs").summary()));
    assert_eq!(editing.poll(later), Some(EditingCall::Fetch));
    editing.fetched(None, later);
    assert!(matches!(editing.status(), EditingStatus::Failed { retries_at: None, .. }));
    // Both ways out of the failure are tested: an explicit save on the clone, and an edit below.
    let mut asked = editing.clone();
    asked.save(later);
    assert_eq!(asked.poll(later), save("a", 0, SaveReason::Manual));
    editing.edit("ab", later);
    assert_eq!(editing.poll(later + AUTOSAVE_AFTER), save("ab", 0, SaveReason::Autosave));
}

#[test]
fn a_draft_is_kept_offline_and_saved_on_reconnection() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(1, "a")));
    editing.disconnected();
    editing.edit("ab", start);
    let later = start + AUTOSAVE_AFTER;
    assert_eq!((editing.poll(later), editing.wake_at()), (None, None));
    assert_eq!(editing.status(), EditingStatus::Offline);
    let draft = LocalDraft {
        base_version: Version(1),
        base_text: "a".to_owned(),
        text: "ab".to_owned(),
        marks: vec![],
    };
    assert_eq!(editing.take_draft_change(), Some(DraftChange::Keep(draft)));
    assert_eq!(editing.take_draft_change(), None);
    editing.reconnected(later);
    assert_eq!(editing.poll(later), Some(EditingCall::Fetch), "first, what happened meanwhile");
    editing.fetched(Some(&document(1, "a")), later);
    assert_eq!(editing.poll(later), save("ab", 1, SaveReason::Autosave));
    editing.saved(&document(2, "ab"), later);
    assert_eq!(editing.take_draft_change(), Some(DraftChange::Forget));
}

#[test]
fn a_save_with_a_lost_answer_is_recognized() {
    let start = Instant::now();
    let mut editing = Editor::new(Some(&document(1, "a")));
    editing.edit("ab", start);
    editing.save(start);
    editing.poll(start).unwrap();
    editing.edit("abc", start);
    editing.disconnected();
    editing.reconnected(start);
    editing.poll(start).unwrap();
    editing.fetched(Some(&document(2, "ab")), start);
    assert_eq!((editing.base(), editing.text(), editing.version()), ("ab", "abc", Version(2)));
    assert_eq!(editing.poll(start + AUTOSAVE_AFTER), save("abc", 2, SaveReason::Autosave));
}

#[test]
fn a_draft_is_restored_after_a_crash() {
    let start = Instant::now();
    let draft = LocalDraft {
        base_version: Version(1),
        base_text: "a".to_owned(),
        text: "ab".to_owned(),
        marks: vec![],
    };
    let text = serde_json::to_string(&draft).unwrap();
    let draft: LocalDraft = serde_json::from_str(&text).unwrap();
    let open = || {
        let mut editing = Editor::open(Some(draft.clone()));
        assert_eq!((editing.text(), editing.status()), ("ab", EditingStatus::Loading));
        assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
        editing
    };
    // Case 1: the document is unchanged, so the draft is saved.
    let mut editing = open();
    editing.fetched(Some(&document(1, "a")), start);
    assert_eq!(editing.poll(start), save("ab", 1, SaveReason::Autosave));
    // Case 2: the draft had been saved before the crash.
    let mut editing = open();
    editing.fetched(Some(&document(2, "ab")), start);
    assert_eq!(editing.status(), EditingStatus::Saved);
    assert_eq!(editing.take_draft_change(), Some(DraftChange::Forget));
    // Case 3: another user saved since, so the draft conflicts.
    let mut editing = open();
    editing.fetched(Some(&document(2, "theirs")), start);
    assert_eq!((editing.status(), editing.base()), (EditingStatus::Conflict, "a"));
    // Case 4: the gateway is unreachable.
    let mut editing = Editor::open(Some(draft));
    editing.disconnected();
    editing.edit("abc", start);
    assert_eq!((editing.status(), editing.poll(start)), (EditingStatus::Offline, None));
    assert!(matches!(editing.take_draft_change(), Some(DraftChange::Keep(draft)) if draft.text == "abc"));
}

#[test]
fn a_document_is_not_overwritten_while_it_loads() {
    let start = Instant::now();
    let mut editing = Editor::open(None);
    assert_eq!(editing.poll(start), Some(EditingCall::Fetch));
    editing.failed(failure(true), start);
    assert!(matches!(editing.status(), EditingStatus::Failed { .. }));
    editing.edit("typed early", start);
    let later = start + AUTOSAVE_AFTER;
    assert_eq!(editing.poll(later), Some(EditingCall::Fetch));
    editing.fetched(Some(&document(9, "theirs")), later);
    assert_eq!((editing.status(), editing.remote()), (EditingStatus::Conflict, Some(Some("theirs"))));
}

#[test]
fn characters_are_compared_with_the_prompt_limit() {
    let editing = Editor::new(Some(&document(1, "äöü")));
    assert_eq!((editing.characters().count, editing.characters().limit), (3, 16_000));
    assert!(!editing.characters().is_over());
    assert!(Editor::new(Some(&document(1, &"ä".repeat(16_001)))).characters().is_over());
}

#[test]
fn a_late_answer_to_an_abandoned_request_is_ignored() {
    let start = Instant::now();
    let known = document(1, "a");
    let later = start + AUTOSAVE_AFTER;
    // The save is abandoned, for example because everything is reloaded, and the document is fetched.
    let given_up = || {
        let mut editing = Editing::new(Some(&known));
        editing.edit("ab", start);
        let save = editing.poll(later).unwrap();
        editing.disconnected();
        editing.reconnected(later);
        let fetch = editing.poll(later).unwrap();
        assert_eq!(fetch.call, EditingCall::Fetch);
        (editing, save.number, fetch.number)
    };
    let (mut editing, save, fetch) = given_up();
    editing.saved(save, &document(2, "ab"), later);
    assert_eq!(editing.version(), Version(1), "the answer of the save changes nothing");
    editing.fetched(fetch, Some(&document(2, "ab")), later);
    assert_eq!((editing.status(), editing.version()), (EditingStatus::Saved, Version(2)));

    let (mut editing, save, fetch) = given_up();
    editing.failed(save, failure(false), later);
    editing.conflicted(save, Some(&document(9, "theirs")), later);
    assert_eq!(editing.status(), EditingStatus::Unsaved, "nothing has failed, and nothing is in conflict");
    editing.fetched(fetch, Some(&known), later);
    assert_eq!(editing.poll(later).unwrap().call, save_of("ab", 1));

    // An older document must not replace the newer one that was requested after it.
    let mut editing = Editing::new(Some(&known));
    editing.remote_changed(Some(&document(2, "b").summary()));
    let old = editing.poll(start).unwrap();
    editing.disconnected();
    editing.reconnected(start);
    let new = editing.poll(start).unwrap();
    editing.fetched(old.number, Some(&document(2, "b")), start);
    assert_eq!(editing.text(), "a");
    editing.fetched(new.number, Some(&document(3, "c")), start);
    assert_eq!((editing.text(), editing.version()), ("c", Version(3)));
}

#[test]
fn an_oversized_text_is_kept_locally() {
    let start = Instant::now();
    let later = start + AUTOSAVE_AFTER;
    let mut editing = Editor::new(None);
    editing.edit("ä".repeat(32_769), start);
    assert_eq!(editing.status(), EditingStatus::TooLong { bytes: 65_538, limit: 65_536 });
    editing.save(start);
    assert_eq!((editing.poll(later), editing.wake_at()), (None, None));
    assert!(matches!(editing.take_draft_change(), Some(DraftChange::Keep(_))));
    // Line endings count as the gateway counts them.
    editing.edit("\r\n".repeat(65_536), start);
    assert_eq!(editing.status(), EditingStatus::Unsaved);
    assert!(editing.poll(later).is_some());
}
