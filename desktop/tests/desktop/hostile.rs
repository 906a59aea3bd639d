//! Windows under hostile conditions: bad names, damaged files, limits, and edits at the same moment.

use std::io::Write as _;

use gpui_kit::test::TestQueryExt as _;

use gateway_process::Launch;

use crate::harness::{Desk, Peer, program, state};

#[test]
fn hidden_characters_in_names_are_spelled_out() {
    let mut other = Peer::start();
    other.thread(None, "Fix \u{202e}dliub eht");
    let folder = other.folder(None, "zero\u{200b}width");
    other.save(Some(&folder), "text\n");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("Fix ⟨U+202E⟩dliub eht");
    desk.until_label("zero⟨U+200B⟩width");
    desk.click(&format!("folder-{folder}"));
    desk.click(&format!("document-{folder}"));
    desk.until_status("Saved · version 1");
    desk.press("secondary-h");
    desk.until_said("compared", |words| words.starts_with("From nothing"));
}

#[test]
fn deep_tree_is_reachable_to_its_end() {
    let mut other = Peer::start();
    let mut folder = other.folder(None, "level 1");
    for level in 2..=DEPTH {
        folder = other.folder(Some(&folder), &format!("level {level}"));
    }
    other.save(Some(&folder), "# Deep\n");
    let mut desk = Desk::connected(&other, &state());
    let last = folder.clone();
    desk.press("secondary-1");
    desk.press("home");
    // Each press expands a folder or moves into it.
    desk.until("the deepest folder", |workbench, window, cx| {
        use gpui_kit::test::TestWindowExt as _;
        window.press("right", cx);
        let tree = workbench.read(cx).session().read(cx).tree().unwrap();
        tree.selected() == Some(&client::RowKey::Document(Some(last.clone())))
    });
    let bounds = desk.update(|window, _| window.find_by_label("AGENTS.md").bounds());
    assert!(bounds.size.width > gpui_kit::px(40.), "its name can still be read: {bounds:?}");
    desk.press("enter");
    desk.until_status("Saved · version 1");
    desk.press("secondary-e");
    desk.until_said("from", |words| words == "It is defined here.");
}

/// Enough levels that indenting each would push the names out of the window.
const DEPTH: usize = 40;

#[test]
fn oversized_text_is_kept_locally() {
    let mut other = Peer::start();
    let state = state();
    let mut desk = Desk::connected(&other, &state);
    desk.press("secondary-n");
    desk.until_status("Nothing is saved here yet");
    let long = "A line of a text that is far too long for a document.\n".repeat(2_000);
    // Pasted, because typing 100,000 characters one by one would take minutes.
    let item = gpui_kit::ClipboardItem::new_string(long.clone());
    desk.update(|_, cx| cx.write_to_clipboard(item));
    desk.press("secondary-v");
    desk.until_status("Not saved: ");
    assert_eq!(desk.text().len(), long.len());
    desk.until_said("characters", |words| words.starts_with("108,000 / 16,000"));
    assert!(other.document(None).is_none());
    drop(desk);
    // The draft is restored at the next start and saved once it is short enough.
    let mut desk = Desk::connected(&other, &state);
    desk.until_said("notice", |words| words.starts_with("Unsaved text of one document"));
    desk.press("secondary-n");
    desk.until_status("Not saved: ");
    assert_eq!(desk.text().len(), long.len());
    desk.press("secondary-a");
    desk.input("short\n");
    desk.until_status("Saved · version 1");
    assert_eq!(other.text(None), "short\n");
}

#[test]
fn damaged_draft_is_reported_and_kept() {
    let mut other = Peer::start();
    other.save(None, "saved\n");
    let state = state();
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    other.kill();
    desk.until_status("Offline");
    desk.input("typed ");
    drop(desk);
    // Half a file, as after a full disk.
    let drafts = found(&state.path().join("drafts"), "root.json");
    let [draft] = drafts.as_slice() else { panic!("{drafts:?}") };
    let whole = std::fs::read(draft).unwrap();
    std::fs::File::create(draft).unwrap().write_all(&whole[..whole.len() / 2]).unwrap();
    other.start_again();
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    desk.until_said("notice", |words| words.contains("cannot be read") && words.contains("damaged-1"));
    desk.input("typed again ");
    desk.until_status("Saved · version 2");
    assert_eq!(found(&state.path().join("drafts"), "root.json.damaged-1").len(), 1);
}

/// Finds files with a name below a directory.
fn found(directory: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            files.extend(found(&entry.path(), name));
        } else if entry.file_name() == name {
            files.push(entry.path());
        }
    }
    files
}

#[test]
fn two_windows_edit_one_document() {
    let mut other = Peer::start();
    other.save(None, "one\ntwo\nthree\nfour\nfive\n");
    let state = state();
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    let first = desk.open_another(other.data(), &state);
    desk.until_id("document-root");
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    // Both windows have unsaved text before either is notified of the other's save.
    desk.press("secondary-end");
    desk.input("bottom\n");
    let second = desk.switch(first);
    desk.input("top ");
    desk.press("secondary-s");
    desk.until_status("Saved · version 2");
    let first = desk.switch(second);
    desk.until_status("Someone else saved meanwhile");
    desk.press("alt-m");
    desk.until_status("Saved · version 3");
    let both = "top one\ntwo\nthree\nfour\nfive\nbottom\n";
    assert_eq!((desk.text().as_str(), other.text(None).as_str()), (both, both));
    desk.switch(first);
    desk.until_status("Saved · version 3");
    assert_eq!(desk.text(), both);
}

#[test]
fn temporary_refusals_are_retried() {
    // A window sends more than two requests when it starts, so some are refused and must be retried.
    let configuration = "[gateway]\nrate_limit_per_second = 2\n".to_owned();
    let mut other = Peer::start_with(Launch { configuration, ..Launch::new(program()) }, None);
    other.folder(None, "services");
    let mut desk = Desk::open(other.data(), &state());
    desk.until_label("services");
    desk.press("secondary-n");
    desk.until_status("Nothing is saved here yet");
    desk.input("slowly\n");
    desk.until_status("Saved · version 1");
}
