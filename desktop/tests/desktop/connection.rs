//! The connection: lost and restored, other gateways, starting a gateway.

use desktop::{Link, Paths, Settings};
use gpui_kit::test::TestQueryExt as _;
use protocol::Role;
use protocol::method::{TokenCreate, TokenCreateParams, TokenRevoke, TokenRevokeParams};

use crate::harness::{Desk, Peer, context, program, state};
use crate::proxy::Proxy;

/// A window with text that was typed while the gateway was gone, which is restarted at the end.
fn typed_offline(text: &str) -> (Peer, Desk) {
    let mut other = Peer::start();
    other.save(None, "one\n");
    let mut desk = Desk::connected(&other, &state());
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    other.kill();
    desk.until("the loss", |workbench, _, cx| !workbench.read(cx).session().read(cx).link().is_connected());
    desk.input(text);
    desk.until_status("Offline");
    other.start_again();
    (other, desk)
}

#[test]
fn lost_connection_misses_nothing() {
    let (mut other, mut desk) = typed_offline("typed offline, ");
    other.folder(None, "made meanwhile");
    desk.until_label("made meanwhile");
    desk.until_status("Saved · version 2");
    assert_eq!(other.text(None), "typed offline, one\n");
}

#[test]
fn change_during_a_lost_connection_is_a_conflict() {
    let (mut other, mut desk) = typed_offline("mine ");
    other.save(None, "theirs\n");
    desk.until_status("Someone else saved meanwhile");
    assert_eq!(desk.text(), "mine one\n");
}

/// A window on a data directory where nothing runs, with a command that it can start.
fn without_gateway(command: &str) -> (tempfile::TempDir, Desk) {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = state();
    let script = directory.path().join("foreword");
    std::fs::write(&script, format!("#!/bin/sh\n{command}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let desk = Desk::open_at(
        context(),
        Paths {
            data: directory.path().join("data"),
            state: directory.path().join("state"),
            program: Some(script),
        },
    );
    (directory, desk)
}

#[test]
fn started_gateway_outlives_the_window() {
    let program = program().display().to_string();
    // The script records its process id, because the gateway outlives the window and must be ended by the
    // test. It takes a free port because tests run in parallel.
    let command = format!(
        "echo $$ >\"$(dirname \"$0\")/pid\"\nexport FOREWORD_HOME=\"$(dirname \"$0\")/home\"\nexec '{program}' \"$@\" --listen 127.0.0.1:0"
    );
    let (directory, mut desk) = without_gateway(&command);
    desk.until_link("No gateway is running");
    desk.click("start-gateway");
    desk.until_link("Connected");
    let pid = std::fs::read_to_string(directory.path().join("pid")).unwrap();
    let _started = Started(pid.trim().to_owned());
    desk.until_label("New workspace…");
    desk.click_label("New workspace…");
    desk.until_id("workspace-name");
    desk.input("made in the window");
    desk.press("enter");
    desk.until("the workspace", |workbench, _, cx| {
        let session = workbench.read(cx).session().read(cx);
        session.workspace().is_some_and(|workspace| workspace.name == "made in the window")
    });
    drop(desk);
    // The gateway outlives the first window, so a second one can connect.
    let mut desk = Desk::open(directory.path().join("data"), &state());
    desk.until_link("Connected");
}

/// A process that the window started; ended with the test, also when it fails.
struct Started(String);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = std::process::Command::new("kill").arg(&self.0).status();
    }
}

#[test]
fn failed_gateway_start_shows_the_reason() {
    let (_directory, mut desk) = without_gateway("echo 'error: the port is taken' >&2; exit 3");
    desk.until_link("No gateway is running");
    desk.press("secondary-shift-s");
    desk.until_said("notice", |words| words.contains("error: the port is taken"));
    // The button is offered again.
    desk.until_link("No gateway is running");
}

/// Stores settings with which a window connects to this address at its start.
fn use_address(state: &tempfile::TempDir, url: &str, token: &str) {
    let (_, stored) = Settings::default().change(state.path(), |settings| {
        settings.gateways.add_address("team", url).map(drop).unwrap();
        settings.gateway = Some("team".to_owned());
    });
    stored.unwrap();
    let tokens = serde_json::json!({ url: token }).to_string();
    std::fs::write(state.path().join("tokens.json"), tokens).unwrap();
}

#[test]
fn revoked_token_is_reported_and_typed_text_survives() {
    let mut other = Peer::start();
    other.save(None, "one\n");
    let params = TokenCreateParams {
        name: "window".to_owned(),
        role: Role::Editor,
        workspace_id: None,
        expires_at: None,
    };
    let secret = other.call::<TokenCreate>(&params).secret;
    let state = state();
    use_address(&state, &other.url(), &secret);
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    other.call::<TokenRevoke>(&TokenRevokeParams { name: "window".to_owned() });
    desk.until_link("Refused: the gateway rejected the token: it is unknown or revoked");
    desk.input("typed later, ");
    desk.until_status("Offline");
    drop(desk);
    // The draft belongs to the database and not to the token, so another token finds and saves it.
    let owner = std::fs::read_to_string(other.data().join("owner.token")).unwrap();
    std::fs::write(
        state.path().join("tokens.json"),
        serde_json::json!({ other.url(): owner.trim() }).to_string(),
    )
    .unwrap();
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 2");
    assert_eq!(other.text(None), "typed later, one\n");
}

#[test]
fn lost_save_answer_causes_no_conflict() {
    let mut other = Peer::start();
    other.save(None, "one\n");
    let proxy = Proxy::to(&other.url());
    let token = std::fs::read_to_string(other.data().join("owner.token")).unwrap();
    let state = state();
    use_address(&state, &proxy.url(), token.trim());
    let mut desk = Desk::connected(&other, &state);
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    // The gateway commits the save, but its answer never arrives. After the reconnect the window must
    // recognize its own text in the new version instead of reporting a conflict with itself.
    proxy.hold();
    desk.input("first, ");
    desk.press("secondary-s");
    desk.until("the save", |_, _, _| other.text(None) == "first, one\n");
    assert_eq!(desk.status(), "Saving…", "its answer is on its way");
    desk.input("second, ");
    proxy.cut();
    proxy.release();
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "first, second, one\n");
}

#[test]
fn slow_gateway_delays_the_save() {
    let mut other = Peer::start();
    other.save(None, "one\n");
    let mut desk = Desk::connected(&other, &state());
    desk.click("document-root");
    desk.until_status("Saved · version 1");
    // A frozen process keeps its sockets open, so nothing fails: the save just takes longer.
    other.gateway.freeze().unwrap();
    desk.input("slowly, ");
    desk.press("secondary-s");
    desk.until_status("Saving…");
    desk.input("and more, ");
    assert_eq!(desk.text(), "slowly, and more, one\n", "typing goes on");
    other.gateway.thaw().unwrap();
    desk.until_status("Saved · version 3");
    assert_eq!(other.text(None), "slowly, and more, one\n");
}

#[test]
fn missing_gateway_shows_the_next_step() {
    let data = state();
    let state = state();
    let mut desk = Desk::open(data.path().join("nothing"), &state);
    desk.until_label("No gateway is running");
    desk.until_id("start-gateway");
}

#[test]
fn another_gateway_is_added_and_used() {
    let here = Peer::start();
    let there = Peer::start();
    let token = std::fs::read_to_string(there.data().join("owner.token")).unwrap();
    let url = there.url();
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
    // Tests have no keyring, so the token goes to a private file.
    let tokens = state.path().join("tokens.json");
    assert!(std::fs::read_to_string(&tokens).unwrap().contains(token.trim()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&tokens).unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop(desk);
    // The choice survives a restart.
    let mut desk = Desk::open(here.data(), &state);
    desk.until("the other workspace", |workbench, _, cx| {
        workbench.read(cx).session().read(cx).workspace_id() == Some(&workspace)
    });
    assert!(desk.update(|window, _| window.try_find_by_label("No gateway is running").is_none()));
}
