//! Documents: created, saved automatically, in conflict, archived, kept through a crash.

use std::time::Duration;

use gpui_kit::test::TestQueryExt as _;

use crate::harness::{Desk, Peer, state};

/// Opens the document of the root and waits until it is loaded.
fn open_root(desk: &mut Desk) {
    desk.click("new-document");
    desk.until("the document", |workbench, _, cx| {
        let editor = workbench.read(cx).document().cloned();
        editor.is_some_and(|editor| editor.read(cx).status_text() != "Loading…")
    });
}

#[test]
fn typing_creates_a_document_at_the_root() {
    let mut other = Peer::start();
    let mut desk = Desk::connected(&other, &state());
    desk.press("secondary-n");
    desk.until_status("Nothing is saved here yet");
    desk.input("# Rules\nBe kind. 静かに 🦀\n");
    desk.until_status("Saved · version 1");
    assert_eq!(other.text(None), "# Rules\nBe kind. 静かに 🦀\n");
    desk.until_label("AGENTS.md");
}

#[test]
fn new_document_shows_the_inherited_one() {
    let mut other = Peer::start();
    other.save(None, "# Everywhere\n");
    let services = other.folder(None, "services");
    let api = other.folder(Some(&services), "api");
    let mut desk = Desk::connected(&other, &state());
    desk.click(&format!("folder-{services}"));
    desk.right_click(&format!("folder-{api}"));
    desk.click_label("New AGENTS.md");
    desk.until_status("Nothing is saved here yet");
    desk.until_label("AGENTS.md, inherited");
    assert_eq!(desk.text(), "", "the inherited text is not edited in place");
    desk.input("# Here\n");
    desk.until_status("Saved · version 1");
    assert_eq!(other.text(Some(&api)), "# Here\n");
    assert_eq!(other.text(None), "# Everywhere\n");
}

#[test]
fn typing_is_saved_after_a_pause() {
    let mut other = Peer::start();
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.input("a");
    // The second key comes before the pause is over and must restart it. The clock is simulated, so the
    // limits are exact.
    desk.cx.advance_clock(Duration::from_millis(600));
    desk.input("b");
    desk.cx.advance_clock(Duration::from_millis(699));
    desk.frame();
    assert_eq!(desk.status(), "Not saved yet");
    assert!(other.document(None).is_none());
    desk.cx.advance_clock(Duration::from_millis(1));
    desk.until_status("Saved · version 1");
    assert_eq!(other.text(None), "ab");
}

#[test]
fn leaving_the_editor_saves_immediately() {
    let mut other = Peer::start();
    let thread = other.thread(None, "A thread");
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.input("typed and left");
    // No time passes on the simulated clock, so only leaving the editor can cause the save.
    desk.click(&format!("thread-{thread}"));
    desk.until("the save", |_, _, _| other.text(None) == "typed and left");
}

#[test]
fn saves_of_others_appear() {
    let mut other = Peer::start();
    other.save(None, "one\n");
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.until_status("Saved · version 1");
    other.save(None, "one\ntwo\n");
    desk.until_status("Saved · version 2");
    assert_eq!(desk.text(), "one\ntwo\n");
}

/// Creates a conflict in one line: the other client saves before the window does.
fn remote_first() -> (Peer, Desk, tempfile::TempDir) {
    let mut other = Peer::start();
    other.save(None, "base\n");
    let state = state();
    let mut desk = Desk::connected(&other, &state);
    open_root(&mut desk);
    desk.until_status("Saved · version 1");
    desk.input("mine ");
    other.save(None, "theirs base\n");
    desk.until_status("Someone else saved meanwhile");
    assert_eq!(desk.text(), "mine base\n", "nothing typed is lost");
    (other, desk, state)
}

#[test]
fn conflict_can_take_the_remote_text() {
    let (mut other, mut desk, _state) = remote_first();
    desk.click("take-remote");
    desk.until_status("Saved · version 2");
    assert_eq!(desk.text(), "theirs base\n");
    assert_eq!(other.text(None), "theirs base\n");
    let clipboard = desk.update(|_, cx| cx.read_from_clipboard().and_then(|item| item.text()));
    assert_eq!(clipboard.as_deref(), Some("mine base\n"), "the discarded text can be pasted back");
}

#[test]
fn conflict_can_overwrite_the_remote_text() {
    let (mut other, mut desk, _state) = remote_first();
    desk.click("overwrite-remote");
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "mine base\n");
}

#[test]
fn conflict_in_one_line_is_merged_by_hand() {
    let (mut other, mut desk, _state) = remote_first();
    desk.click("take-merge");
    desk.until_status("Both texts are between the marks");
    assert!(desk.text().contains("mine base") && desk.text().contains("theirs base"));
    desk.press("secondary-a");
    desk.input("ours\n");
    desk.press("secondary-s");
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "ours\n");
}

#[test]
fn edits_of_different_lines_are_merged() {
    let mut other = Peer::start();
    other.save(None, "one\ntwo\nthree\nfour\nfive\n");
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.until_status("Saved · version 1");
    desk.input("top ");
    other.save(None, "one\ntwo\nthree\nfour\nfive, changed\n");
    desk.until_status("Someone else saved meanwhile");
    desk.press("alt-m");
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "top one\ntwo\nthree\nfour\nfive, changed\n");
    assert_eq!(desk.text(), other.text(None));
}

#[test]
fn stale_save_is_a_conflict() {
    let mut other = Peer::start();
    other.save(None, "base\n");
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.until_status("Saved · version 1");
    desk.input("mine ");
    // The window's executor does not run between these two lines, so it saves without knowing the new
    // version.
    other.save(None, "theirs\n");
    desk.press("secondary-s");
    desk.until_status("Someone else saved meanwhile");
    desk.press("alt-o");
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "mine base\n");
}

#[test]
fn archived_document_leaves_the_tree() {
    let mut other = Peer::start();
    other.save(None, "# Rules\n");
    let mut desk = Desk::connected(&other, &state());
    desk.right_click("document-root");
    desk.click_label("Archive…");
    desk.click_label("Archive");
    desk.until("an empty tree", |_, window, _| window.try_find_by_label("AGENTS.md").is_none());
    assert!(other.document(None).is_none());
}

#[test]
fn typed_text_survives_a_crash() {
    let mut other = Peer::start();
    other.save(None, "saved\n");
    let state = state();
    let mut desk = Desk::connected(&other, &state);
    open_root(&mut desk);
    desk.until_status("Saved · version 1");
    other.kill();
    desk.until_status("Offline");
    desk.input("typed ");
    // Dropping the application simulates a crash: no window is closed in order, so nothing gets a chance to
    // save.
    drop(desk);
    other.start_again();
    let mut desk = Desk::connected(&other, &state);
    desk.until_said("notice", |words| words.starts_with("Unsaved text of one document"));
    open_root(&mut desk);
    desk.until_status("Saved · version 2");
    assert_eq!(other.text(None), "typed saved\n");
    assert_eq!(desk.text(), "typed saved\n");
}

#[test]
fn text_too_long_for_a_prompt_is_marked() {
    let mut other = Peer::start();
    other.save(None, &"x".repeat(15_999));
    let mut desk = Desk::connected(&other, &state());
    open_root(&mut desk);
    desk.until_label("15,999 / 16,000 characters");
    desk.input("yz");
    desk.until_label("16,001 / 16,000 characters");
    desk.until_status("Saved · version 2");
    assert_eq!(other.text(None).len(), 16_001);
}
