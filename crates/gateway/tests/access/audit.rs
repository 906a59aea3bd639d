//! The audit log: logins, rejections and decisions.

use protocol::Role;
use scripted_model::Answer;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Setting, Socket, Stage, World, get, until};

async fn entries(socket: &mut Socket, kind: &str) -> Vec<Value> {
    let listed = socket.ok("audit/list", json!({ "limit": 500 })).await;
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.filter(|entry| entry["event"]["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn tokens_and_their_use_are_audited() {
    let gateway = TestGateway::start().await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    let secret = gateway.token("ci", Role::Editor, None).await.unwrap();
    let mut ci = Socket::connect(&gateway, &secret).await;
    ci.ok("workspace/list", json!({})).await;
    ci.ok("workspace/list", json!({})).await;

    let created = entries(&mut owner, "token_created").await;
    assert_eq!((&created[0]["event"]["name"], &created[0]["actor"]), (&json!("ci"), &json!("stdio")));
    assert_eq!(created[0]["event"]["role"], "editor");
    let used = entries(&mut owner, "token_used").await;
    let of_ci: Vec<&Value> = used.iter().filter(|entry| entry["actor"] == "ci").collect();
    // The minute may have ended in between, which splits the counts over two entries.
    let total = |field: &str| of_ci.iter().map(|entry| entry["event"][field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((total("authentications"), total("calls")), (1, 2), "{used:?}");

    owner.ok("token/revoke", json!({ "name": "ci" })).await;
    let revoked = entries(&mut owner, "token_revoked").await;
    assert_eq!((&revoked[0]["event"]["name"], &revoked[0]["actor"]), (&json!("ci"), &json!("owner")));
    let started = entries(&mut owner, "gateway_started").await;
    assert_eq!((started.len(), &started[0]["actor"]), (1, &json!("gateway")));
}

#[tokio::test]
async fn workspace_changes_and_denials_are_audited() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let mut owner = Socket::owner(&gateway).await;
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for directory in &directories {
        owner.ok("workspace/update", world.with(json!({ "root_path": directory.path() }))).await;
    }
    owner.ok("workspace/update", world.with(json!({ "name": "renamed" }))).await;
    owner.ok("workspace/archive", world.with(json!({}))).await;
    owner.ok("workspace/restore", world.with(json!({}))).await;
    let moved = entries(&mut owner, "workspace_root_changed").await;
    assert_eq!(moved.len(), 2, "the name is no directory: {moved:?}");
    let event = json!({ "kind": "workspace_root_changed", "from": directories[0].path(), "to": directories[1].path() });
    let [newest, ..] = &moved[..] else { panic!() };
    assert_eq!((&newest["event"], &newest["actor"]), (&event, &json!("owner")));
    assert_eq!(newest["workspace_id"], json!(world.workspace));
    for kind in ["workspace_archived", "workspace_restored"] {
        let told = entries(&mut owner, kind).await;
        assert_eq!((told.len(), &told[0]["event"]["name"]), (1, &json!("renamed")), "{kind}");
    }

    let secret = gateway.token("curious", Role::Reader, None).await.unwrap();
    let mut curious = Socket::connect(&gateway, &secret).await;
    curious.ok("workspace/list", json!({})).await;
    curious.refused(-32003, "workspace/archive", world.with(json!({}))).await;
    let used = entries(&mut owner, "token_used").await;
    let forbidden: u64 = used
        .iter()
        .filter(|entry| entry["actor"] == "curious")
        .filter_map(|entry| entry["event"]["forbidden"].as_u64())
        .sum();
    assert_eq!(forbidden, 1, "{used:?}");
}

#[tokio::test]
async fn rejections_are_audited_with_a_reason() {
    let gateway = TestGateway::start().await.unwrap();
    let revoked = gateway.token("gone", Role::Reader, None).await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    owner.ok("token/revoke", json!({ "name": "gone" })).await;
    for _ in 0..3 {
        assert_eq!(get(&gateway, "/metrics", Some("guessed")).await.status, 401);
    }
    assert_eq!(get(&gateway, "/metrics", Some(&revoked)).await.status, 401);
    assert_eq!(get(&gateway, "/metrics", None).await.status, 401);
    let failed = entries(&mut owner, "authentication_failed").await;
    let count = |reason: &str| -> u64 {
        let of_reason = failed.iter().filter(|entry| entry["event"]["reason"] == reason);
        of_reason.map(|entry| entry["event"]["count"].as_u64().unwrap()).sum()
    };
    assert_eq!((count("unknown"), count("revoked"), count("missing")), (3, 1, 1), "{failed:?}");
    assert!(failed.iter().all(|entry| entry["event"]["source"] == "127.0.0.1"));
    let of_gone = failed.iter().find(|entry| entry["event"]["reason"] == "revoked").unwrap();
    assert_eq!(of_gone["actor"], "gone");
    // A mistyped secret is often almost a valid one, so even rejected secrets must not be recorded.
    assert!(!json!(failed).to_string().contains("guessed"), "no secret is kept");
}

#[tokio::test]
async fn a_bound_owner_sees_the_audit_of_its_workspace_alone() {
    let gateway = TestGateway::start().await.unwrap();
    let here = World::new(&gateway, "here").await;
    gateway.token("everywhere", Role::Reader, None).await.unwrap();
    let secret = gateway.token("ours", Role::Owner, Some(here.workspace.parse().unwrap())).await.unwrap();
    let mut ours = Socket::connect(&gateway, &secret).await;
    let listed = ours.ok("audit/list", json!({})).await;
    let entries = listed["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["event"]["kind"] == "token_created"));
    assert!(entries.iter().all(|entry| entry["workspace_id"] == here.workspace.as_str()), "{listed}");
}

#[tokio::test]
async fn the_audit_is_paged_and_survives_a_restart() {
    let gateway = TestGateway::start().await.unwrap();
    for number in 0..5 {
        gateway.token(&format!("t{number}"), Role::Reader, None).await.unwrap();
    }
    let mut owner = Socket::owner(&gateway).await;
    let first = owner.ok("audit/list", json!({ "limit": 2 })).await;
    let last = first["entries"][1]["id"].clone();
    let second = owner.ok("audit/list", json!({ "limit": 2, "before": last })).await;
    assert!(second["entries"][0]["id"].as_str() < last.as_str());
    assert_eq!(
        owner.ok("audit/list", json!({ "since": "2999-01-01T00:00:00Z" })).await["entries"],
        json!([])
    );
    owner.refused(-32602, "audit/list", json!({ "limit": 0 })).await;
    drop(owner);
    let data = gateway.stop().await.unwrap();
    let gateway = TestGateway::start_in(data, |_| {}).await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    assert_eq!(entries(&mut owner, "token_created").await.len(), 6, "the owner's, too");
    let used = entries(&mut owner, "token_used").await;
    // Counts live in memory between two writes. Those of the last calls before the end survive only because the
    // shutdown and `audit/list` write them.
    assert!(!used.is_empty(), "what was counted before the end was written");
    assert_eq!(entries(&mut owner, "gateway_started").await.len(), 2);
}

#[tokio::test]
async fn old_entries_are_forgotten() {
    let gateway = TestGateway::start().await.unwrap();
    let data = gateway.stop().await.unwrap();
    let forget = |settings: &mut gateway::GatewaySettings| {
        // Every entry is older than a nanosecond, so the first pruning after the start must remove all of them.
        settings.agent.retention.audit = Some(std::time::Duration::from_nanos(1));
    };
    let gateway = TestGateway::start_in(data, forget).await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    until("old entries to be gone", async || entries(&mut owner, "token_created").await.is_empty()).await;
}

#[tokio::test]
async fn approvals_are_audited() {
    let mut stage = Stage::set(Setting { mode: "agent", ..Setting::default() }).await;
    let arguments = json!({ "path": "a.txt", "content": "new" }).to_string();
    stage.model.answer(Answer::empty().tool_call("call_1", "write_file", &arguments));
    stage.model.answer(Answer::text("Then not."));
    let turn = stage.start("write it").await;
    let asked = stage.until(&turn, |answer| answer["approvals"] != json!([])).await["approvals"][0].clone();
    let operator = stage.gateway.token("op", Role::Operator, None).await.unwrap();
    let no = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": false, "how": "flag" }));
    Socket::connect(&stage.gateway, &operator).await.ok("turn/approve", no).await;
    stage.ended(&turn).await;
    let decided = entries(&mut stage.socket, "approval_decided").await;
    let [decided] = &decided[..] else { panic!("{decided:?}") };
    assert_eq!((&decided["actor"], &decided["workspace_id"]), (&json!("op"), &json!(stage.workspace)));
    let event = json!({
        "kind": "approval_decided", "turn_id": turn, "call_id": "call_1", "tool": "write_file",
        "digest": asked["digest"], "allowed": false, "how": "flag", "identity": false,
    });
    assert_eq!(decided["event"], event);
}
