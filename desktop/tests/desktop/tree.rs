//! The tree: what others change, what menus, keys and the mouse do, and how large it may be.

use gpui_kit::test::{TestQueryExt as _, TestWindowExt as _};

use crate::harness::{Desk, Other, state};

#[test]
fn what_others_make_appears() {
    let mut other = Other::start();
    let mut desk = Desk::connected(&other, &state());
    other.folder(None, "services");
    desk.until_label("services");
    other.thread(None, "Fix the build");
    desk.until_label("Fix the build");
}

#[test]
fn folders_are_made_renamed_and_deleted_by_keys_and_menus() {
    let other = Other::start();
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
fn a_thread_is_dragged_into_a_folder() {
    let mut other = Other::start();
    let folder = other.folder(None, "services");
    let thread = other.thread(None, "Fix the build");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("Fix the build");
    let (from, to) = (format!("thread-{thread}"), format!("folder-{folder}"));
    desk.update(|window, cx| {
        window.drag_to(gpui_kit::SharedString::from(from), gpui_kit::SharedString::from(to), cx);
    });
    desk.until("the move", |workbench, _, cx| {
        let session = workbench.read(cx).session().read(cx);
        session.tree().and_then(|tree| tree.place_of(&thread)) == Some(&Some(folder.clone()))
    });
}

#[test]
fn a_folder_is_moved_by_keys() {
    let mut other = Other::start();
    let (first, second) = (other.folder(None, "a"), other.folder(None, "b"));
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
fn the_filter_leaves_what_matches() {
    let mut other = Other::start();
    other.thread(None, "Fix the build");
    other.thread(None, "Write the docs");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("Write the docs");
    desk.press("secondary-shift-f");
    desk.input("build");
    desk.until("one row", |_, window, _| {
        window.try_find_by_label("Write the docs").is_none()
            && window.try_find_by_label("Fix the build").is_some()
    });
}
