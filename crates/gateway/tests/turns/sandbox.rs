//! Commands and the files they must not touch, as clients see it.

use protocol::WorkspaceId;
use protocol::method::WorkspaceUpdateParams;
use scripted_model::Answer;
use serde_json::json;
use store::Lease;

use crate::support::{Setting, Stage, texts, unconfined_shell, writing};

const INVALID_PARAMS: i64 = -32_602;
const INVALID_STATE: i64 = -32_011;

fn shell(command: &str) -> Answer {
    Answer::empty().tool_call("call_1", "shell", &json!({ "command": command }).to_string())
}

fn last_result(stage: &Stage) -> String {
    texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).join("\n")
}

#[tokio::test]
async fn changes_to_protected_files_are_reported() {
    let mut turns = writing();
    turns.shell = Some(unconfined_shell());
    let files = &[("AGENTS.md", "be brief")];
    let mut stage = Stage::set(Setting { mode: "agent", turns, files, ..Setting::default() }).await;
    let subscription = stage.with(json!({}));
    stage.socket.ok("events/subscribe", subscription).await;
    stage.model.answer(shell("echo evil > AGENTS.md; mkdir -p .git/hooks; touch .git/hooks/pre-commit"));
    stage.model.answer(Answer::text("done"));
    let turn = stage.start("go").await;
    let changes = json!([
        { "path": ".git/hooks/pre-commit", "change": "new", "undone": true },
        { "path": "AGENTS.md", "change": "changed", "undone": true },
    ]);
    let finished = loop {
        let told = stage.socket.notification().await;
        if told["method"] == "turn/tool_finished" {
            break told["params"].clone();
        }
    };
    assert_eq!((&finished["sandbox"], &finished["protected_changes"]), (&json!("off"), &changes));
    stage.ended(&turn).await;
    assert_eq!(stage.read("AGENTS.md"), "be brief");
    assert!(!stage.path(".git/hooks/pre-commit").exists());
    assert!(
        last_result(&stage)
            .contains("undone: .git/hooks/pre-commit (new, removed again), AGENTS.md (changed, put back)"),
        "{}",
        last_result(&stage)
    );
    let explained = stage.with(json!({ "turn_id": turn }));
    let explained = stage.socket.ok("turn/explain", explained).await;
    let tool = &explained["explanation"]["tools"][0];
    assert_eq!((&tool["sandbox"], &tool["protected_changes"]), (&json!("off"), &changes), "{explained:#}");
}

#[tokio::test]
async fn an_approval_request_shows_the_sandbox_level() {
    let turns = agent::TurnSettings { shell: Some(unconfined_shell()), ..Default::default() };
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    stage.model.answer(shell("touch ran"));
    stage.model.answer(Answer::text("done"));
    let turn = stage.start("go").await;
    let waiting = stage.until(&turn, |answer| !answer["approvals"][0].is_null()).await;
    assert_eq!(waiting["approvals"][0]["sandbox"], "off", "{waiting:#}");
    let denied = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": false }));
    stage.socket.ok("turn/approve", denied).await;
    stage.ended(&turn).await;
    assert!(!stage.path("ran").exists());
}

// Root cannot create a sandbox, so running as root stands for a machine without one.
#[tokio::test]
async fn without_a_sandbox_the_shell_is_listed_but_denied() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let turns = agent::TurnSettings { shell: Some(tools::ShellSettings::default()), ..Default::default() };
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    stage.model.answer(shell("touch ran"));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    let listed = stage.last_body()["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "shell");
    assert!(listed && !stage.path("ran").exists());
    let result = last_result(&stage);
    let expected = "no sandbox of this machine is as strong as the settings ask (not `isolated`: the \
                    gateway runs as root";
    assert!(result.contains(expected), "{result}");
}

#[tokio::test]
async fn a_root_containing_gateway_files_is_rejected() {
    let mut stage = Stage::agent(&[]).await;
    let data = stage.gateway.data().to_owned();
    for root in [&data, &data.join("home"), &data.join("new"), data.parent().unwrap()] {
        let made = json!({ "name": "w2", "root_path": root });
        let refused = stage.socket.call("workspace/create", made).await.unwrap_err();
        assert_eq!(refused["code"], INVALID_PARAMS);
        assert!(refused["message"].as_str().unwrap().contains("where the gateway keeps its own files"));
        let changed = stage.with(json!({ "root_path": root }));
        stage.socket.refused(INVALID_PARAMS, "workspace/update", changed).await;
    }
}

// The root may be older than the rule, or the data directory may have moved into it.
#[tokio::test]
async fn gateway_files_are_unreachable_from_any_root() {
    let mut turns = writing();
    turns.permissions.protected = tools::Permission::Allow;
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    let data = stage.gateway.data().to_owned();
    let workspace_id: WorkspaceId = stage.workspace.parse().unwrap();
    let root_path = Some(data.parent().unwrap().to_string_lossy().into_owned());
    let change = WorkspaceUpdateParams { root_path, ..WorkspaceUpdateParams::unchanged(workspace_id) };
    stage.gateway.gateway().store().update_workspace(change, None).await.unwrap();
    let path = data.join("owner.token");
    stage.model.answer(Answer::empty().tool_call(
        "call_1",
        "read_file",
        &json!({ "path": path }).to_string(),
    ));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    let result = last_result(&stage);
    assert!(result.contains("out of reach of every tool"), "{result}");
}

/// The error of a turn that another gateway failed.
fn gateway_gone() -> protocol::TurnError {
    protocol::TurnError {
        kind: protocol::TurnErrorKind::Interrupted,
        message: "its gateway is gone".to_owned(),
        hint: None,
        provider: None,
        status: None,
        retryable: true,
    }
}

// The case of a gateway that was frozen during a call is tested in the module of the lease.
#[tokio::test]
async fn an_ended_turn_allows_no_more_calls() {
    let turns = agent::TurnSettings { shell: Some(unconfined_shell()), ..Default::default() };
    let mut stage = Stage::set(Setting { mode: "agent", turns, ..Setting::default() }).await;
    stage.model.answer(shell("touch ran"));
    let turn = stage.start("go").await;
    stage.until(&turn, |answer| !answer["approvals"][0].is_null()).await;
    // Another gateway declares the turn dead, and this one has not checked yet when the answer arrives.
    let store = stage.gateway.gateway().store().clone();
    let allowed = stage.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": true }));
    let (workspace_id, turn_id) = (stage.workspace.parse().unwrap(), turn.parse().unwrap());
    let stolen = Lease { owner: "another".to_owned(), expires_at: protocol::Timestamp::now() };
    assert!(store.renew_lease(&workspace_id, &turn_id, &stolen).await.is_err(), "only the holder renews");
    let error = gateway_gone();
    let later = protocol::Timestamp::from_milliseconds(protocol::Timestamp::now().milliseconds() + 60_000);
    assert_eq!(store.fail_expired_turns(later, 10, &[], &error).await.unwrap().len(), 1);
    stage.socket.refused(INVALID_STATE, "turn/approve", allowed).await;
    let answer = stage.get(&turn).await;
    assert_eq!(answer["turn"]["status"], "failed");
    stage.gateway.gateway().shutdown().await;
    assert!(!stage.path("ran").exists());
}

/// Returns a turn that is stopped during a command which has rewritten AGENTS.md.
async fn meddling() -> (Stage, String) {
    let mut turns = writing();
    turns.shell = Some(unconfined_shell());
    let files = &[("AGENTS.md", "be brief")];
    let mut stage = Stage::set(Setting { mode: "agent", turns, files, ..Setting::default() }).await;
    let subscription = stage.with(json!({}));
    stage.socket.ok("events/subscribe", subscription).await;
    stage
        .model
        .answer(shell("echo evil > AGENTS.md; echo evil > AGENTS.override.md; touch begun; sleep 300"));
    let turn = stage.start("go").await;
    while !stage.path("begun").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    (stage, turn)
}

fn put_back() -> serde_json::Value {
    json!([
        { "path": "AGENTS.md", "change": "changed", "undone": true },
        { "path": "AGENTS.override.md", "change": "new", "undone": true },
    ])
}

#[tokio::test]
async fn cancelling_a_command_restores_protected_files() {
    let (mut stage, turn) = meddling().await;
    let cancelled = stage.with(json!({ "turn_id": turn }));
    stage.socket.ok("turn/cancel", cancelled.clone()).await;
    assert_eq!(stage.read("AGENTS.md"), "be brief");
    assert!(!stage.path("AGENTS.override.md").exists());
    let finished = loop {
        let told = stage.socket.notification().await;
        if told["method"] == "turn/tool_finished" {
            break told["params"].clone();
        }
    };
    assert_eq!((&finished["call_id"], &finished["protected_changes"]), (&json!("call_1"), &put_back()));
    let explained = stage.socket.ok("turn/explain", cancelled).await;
    let tool = &explained["explanation"]["tools"][0];
    assert_eq!((&tool["sandbox"], &tool["protected_changes"]), (&json!("off"), &put_back()), "{explained:#}");
}

#[tokio::test]
async fn effects_survive_cancelling_another_call() {
    let mut turns = writing();
    turns.shell = Some(unconfined_shell());
    let files = &[("AGENTS.md", "be brief")];
    let mut stage = Stage::set(Setting { mode: "agent", turns, files, ..Setting::default() }).await;
    let slow = json!({ "command": "sleep 300" }).to_string();
    let quick = json!({ "command": "echo evil > AGENTS.override.md; touch begun" }).to_string();
    stage.model.answer(Answer::empty().tool_call("slow", "shell", &slow).tool_call("quick", "shell", &quick));
    let turn = stage.start("go").await;
    // The quick command must be over, and its change undone, while the slow one still runs.
    while !stage.path("begun").exists() || stage.path("AGENTS.override.md").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let cancelled = stage.with(json!({ "turn_id": turn }));
    stage.socket.ok("turn/cancel", cancelled.clone()).await;
    let explained = stage.socket.ok("turn/explain", cancelled).await;
    let changes = json!([{ "path": "AGENTS.override.md", "change": "new", "undone": true }]);
    assert_eq!(explained["explanation"]["tools"][1]["protected_changes"], changes, "{explained:#}");
}

#[tokio::test]
async fn a_shutdown_restores_protected_files() {
    let (stage, _) = meddling().await;
    stage.gateway.gateway().shutdown().await;
    assert_eq!(stage.read("AGENTS.md"), "be brief");
    assert!(!stage.path("AGENTS.override.md").exists());
}

// Another gateway has ended the turn, so no effects can be recorded. The files are restored all the same.
#[tokio::test]
async fn a_lost_lease_restores_protected_files() {
    let (stage, _) = meddling().await;
    let store = stage.gateway.gateway().store().clone();
    let later = protocol::Timestamp::from_milliseconds(protocol::Timestamp::now().milliseconds() + 60_000);
    assert_eq!(store.fail_expired_turns(later, 10, &[], &gateway_gone()).await.unwrap().len(), 1);
    // The file may be missing for a moment while it is restored.
    let text = || std::fs::read_to_string(stage.path("AGENTS.md")).ok();
    while text().as_deref() != Some("be brief") || stage.path("AGENTS.override.md").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

// The next session obeys an imported file just like AGENTS.md, so it needs the same protection.
#[tokio::test]
async fn imported_files_are_protected_like_instructions() {
    let mut turns = writing();
    turns.shell = Some(unconfined_shell());
    let files = &[
        ("AGENTS.md", "Follow @docs/style.md"),
        ("docs/style.md", "be brief"),
        ("sub/AGENTS.md", "And @more.md"),
        ("sub/more.md", "be kind"),
    ];
    let mut stage = Stage::set(Setting { mode: "agent", turns, files, ..Setting::default() }).await;
    let write = |id: &str, path: &str| {
        let arguments = json!({ "path": path, "content": "evil" }).to_string();
        Answer::empty().tool_call(id, "write_file", &arguments)
    };
    stage.model.answer(write("call_1", "docs/style.md"));
    stage.model.answer(shell("echo evil > docs/style.md; rm docs/style.md; echo evil > docs/other.md"));
    let reading = json!({ "path": "sub/AGENTS.md" }).to_string();
    stage.model.answer(Answer::empty().tool_call("call_3", "read_file", &reading));
    stage.model.answer(write("call_4", "sub/more.md"));
    stage.model.answer(Answer::text("done"));
    stage.ask("go").await;
    assert_eq!(
        (stage.read("docs/style.md"), stage.read("sub/more.md")),
        ("be brief".into(), "be kind".into())
    );
    assert_eq!(stage.read("docs/other.md"), "evil\n", "nothing else is");
    let sent = stage.last_body()["messages"].to_string();
    let rule = "permissions.protected = deny (files that instruction files import)";
    assert_eq!(sent.matches(&format!("was not allowed by the rule {rule}")).count(), 2, "{sent}");
    assert!(sent.contains("that was undone: docs/style.md (removed, put back)"), "{sent}");
}

/// A database may be kept anywhere, and has the documents of every workspace in it.
#[tokio::test]
async fn an_external_database_is_unreachable() {
    let elsewhere = tempfile::tempdir().unwrap();
    let database = elsewhere.path().join("work/foreword.db");
    std::fs::create_dir(elsewhere.path().join("work")).unwrap();
    let mut stage = Stage::set(Setting {
        mode: "agent",
        turns: writing(),
        database: Some(store::Database::Sqlite(database.clone())),
        ..Setting::default()
    })
    .await;
    for root in [elsewhere.path().join("work"), elsewhere.path().to_owned()] {
        let made = json!({ "name": "w2", "root_path": root });
        let refused = stage.socket.call("workspace/create", made).await.unwrap_err();
        assert_eq!(refused["code"], INVALID_PARAMS);
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("foreword.db, where the gateway keeps its own files"), "{message}");
    }
    // A root that is older than the rule.
    let workspace_id: WorkspaceId = stage.workspace.parse().unwrap();
    let root_path = Some(elsewhere.path().to_string_lossy().into_owned());
    let change = WorkspaceUpdateParams { root_path, ..WorkspaceUpdateParams::unchanged(workspace_id) };
    stage.gateway.gateway().store().update_workspace(change, None).await.unwrap();
    for (index, name) in ["foreword.db", "foreword.db-wal"].iter().enumerate() {
        let arguments = json!({ "path": format!("work/{name}") }).to_string();
        stage.model.answer(Answer::empty().tool_call(&format!("call_{index}"), "read_file", &arguments));
        stage.model.answer(Answer::text("done"));
        stage.ask("go").await;
        let result = last_result(&stage);
        assert!(result.contains("out of reach of every tool"), "{name}: {result}");
    }
}
