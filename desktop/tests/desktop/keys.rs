//! Every control is reachable without a mouse.

use gpui_kit::test::TestQueryExt as _;

use crate::harness::{Desk, Peer, state};

/// Presses Tab repeatedly and returns the labels of the focused buttons.
fn reached(desk: &mut Desk, presses: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..presses {
        desk.press("tab");
        let focused = desk.update(|window, _| {
            let elements = window.elements();
            let buttons = elements.iter().filter(|element| element.role() == Some(gpui_kit::Role::Button));
            let focused = buttons.filter(|element| element.focused() == Some(true));
            focused.filter_map(|element| element.label().map(str::to_owned)).next_back()
        });
        names.extend(focused);
    }
    names
}

#[test]
fn version_is_restored_by_keys() {
    let mut other = Peer::start();
    other.save(None, "one\n");
    other.save(None, "two\n");
    let mut desk = Desk::connected(&other, &state());
    desk.until_label("AGENTS.md");
    desk.press("home");
    desk.press("secondary-h");
    desk.until_said("compared", |words| words == "From version 1 to version 2");
    desk.press("down");
    desk.until_said("compared", |words| words == "From nothing to version 1");
    let names = reached(&mut desk, 40);
    let at = names.iter().position(|name| name == "Restore version 1");
    assert!(at.is_some(), "Tab does not lead there: {names:?}");
    // The focus order is a cycle, so starting over with the same number of presses reaches the button again.
    desk.press("secondary-2");
    for _ in 0..=at.unwrap() {
        desk.press("tab");
    }
    desk.press("enter");
    desk.until("the restore", |_, _, _| other.text(None) == "one\n");
}
