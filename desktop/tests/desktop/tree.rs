//! The tree: changes of others, menus, keys and the mouse.

use gpui_kit::test::{TestQueryExt as _, TestWindowExt as _};

use crate::harness::{Desk, Peer, state};

#[test]
fn changes_of_others_appear() {
    let mut other = Peer::start();
    let mut desk = Desk::connected(&other, &state());
    other.folder(None, "services");
    desk.until_label("services");
    other.thread(None, "Fix the build");
    desk.until_label("Fix the build");
}

#[test]
fn folders_are_created_renamed_and_deleted() {
    let other = Peer::start();
    let mut desk = Desk::connected(&other, &state());
    desk.press("secondary-shift-n");
    desk.until_id("folder-name");
    desk.input("services");
    desk.press("enter");
    desk.until_label("services");
    desk.until_gone("folder-name");
    desk.press("secondary-1");
    desk.press("f2");
    desk.until_id("new-name");
    desk.input("backend");
    desk.press("enter");
    desk.until_label("backend");
    desk.until_gone("new-name");
    desk.press("secondary-1");
    desk.press("delete");
    desk.click_label("Delete");
    desk.until("an empty tree", |_, window, _| window.try_find_by_label("backend").is_none());
}

#[test]
fn thread_is_dragged_into_a_folder() {
    let mut other = Peer::start();
    let folder = other.folder(None, "services");
    let thread = other.thread(None, "Fix the build");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("Fix the build");
    let from = format!("thread-{thread}");
    let to = format!("folder-{folder}");
    desk.update(|window, cx| {
        window.drag_to(gpui_kit::SharedString::from(from), gpui_kit::SharedString::from(to), cx);
    });
    desk.until("the move", |workbench, _, cx| {
        let session = workbench.read(cx).session().read(cx);
        session.tree().and_then(|tree| tree.place_of(&thread)) == Some(&Some(folder.clone()))
    });
}

#[test]
fn folder_is_moved_by_keys() {
    let mut other = Peer::start();
    let first = other.folder(None, "a");
    let second = other.folder(None, "b");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("b");
    desk.press("home");
    desk.press("secondary-x");
    desk.press("down");
    desk.press("secondary-v");
    desk.until("the move", |workbench, _, cx| {
        let session = workbench.read(cx).session().read(cx);
        let folder = session.tree().and_then(|tree| tree.folder(&first));
        folder.is_some_and(|folder| folder.parent_folder_id.as_ref() == Some(&second))
    });
}

#[test]
fn filter_keeps_matching_rows() {
    let mut other = Peer::start();
    other.thread(None, "Fix the build");
    other.thread(None, "Write the docs");
    let mut desk = Desk::connected(&other, &state());
    // Both rows must be visible first; otherwise a missing row would pass the check below.
    desk.until_label("Write the docs");
    desk.press("secondary-shift-f");
    desk.input("build");
    desk.until("one row", |_, window, _| {
        window.try_find_by_label("Write the docs").is_none()
            && window.try_find_by_label("Fix the build").is_some()
    });
}
