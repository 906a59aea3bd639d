//! The connection: lost and found again, other gateways, a gateway that is started.

use desktop::Link;
use gpui_kit::test::TestQueryExt as _;

use crate::harness::{Desk, Other};

fn state() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn after_a_lost_connection_nothing_is_missed() {
    let mut other = Other::start();
    other.save(None, "one\n");
    let mut desk = Desk::connected(&other, &state());
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    other.kill();
    desk.until("the loss", |workbench, _, cx| !workbench.read(cx).session().read(cx).link().is_connected());
    desk.input("typed offline, ");
    desk.until_status("Offline");
    other.start_again();
    other.folder(None, "made meanwhile");
    desk.until_label("made meanwhile");
    desk.until_status("Saved · version 2");
    assert_eq!(other.text(None), "typed offline, one\n");
}

#[test]
fn a_document_that_changed_while_the_connection_was_lost_is_a_conflict() {
    let mut other = Other::start();
    other.save(None, "one\n");
    let mut desk = Desk::connected(&other, &state());
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    other.kill();
    desk.until("the loss", |workbench, _, cx| !workbench.read(cx).session().read(cx).link().is_connected());
    desk.input("mine ");
    desk.until_status("Offline");
    other.start_again();
    other.save(None, "theirs\n");
    desk.until_status("Somebody else saved meanwhile");
    assert_eq!(desk.text(), "mine one\n");
}

#[test]
fn without_a_gateway_the_window_says_what_to_do() {
    let (data, state) = (state(), state());
    let mut desk = Desk::open(data.path().join("nothing"), &state);
    desk.until_label("No gateway is running");
    desk.until_id("start-gateway");
}

#[test]
fn another_gateway_is_added_and_used() {
    let (here, there) = (Other::start(), Other::start());
    let token = std::fs::read_to_string(there.data().join("owner.token")).unwrap();
    let url = there.gateway.target().locate().unwrap().url;
    let state = state();
    let mut desk = Desk::connected(&here, &state);
    desk.press("secondary-shift-g");
    desk.click("gateway-name");
    desk.input("team");
    desk.click("gateway-address");
    desk.input(&url);
    desk.click("gateway-token");
    desk.input(token.trim());
    desk.click("add-gateway");
    desk.click("connect-team");
    let workspace = there.workspace_id.clone();
    desk.until("the other workspace", |workbench, _, cx| {
        let session = workbench.read(cx).session().read(cx);
        matches!(session.link(), Link::Connected { .. }) && session.workspace_id() == Some(&workspace)
    });
    // There is no keyring in this window, so the token is in a file of its own.
    let tokens = state.path().join("tokens.json");
    assert!(std::fs::read_to_string(&tokens).unwrap().contains(token.trim()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&tokens).unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop(desk);
    // It is still in use after a new start.
    let mut desk = Desk::open(here.data(), &state);
    desk.until("the other workspace", |workbench, _, cx| {
        workbench.read(cx).session().read(cx).workspace_id() == Some(&workspace)
    });
    assert!(desk.update(|window, _| window.try_find_by_label("No gateway is running").is_none()));
}
