//! Expiry of a token: its connections, requests and running turns end.

use protocol::Timestamp;
use scripted_model::Answer;
use serde_json::json;
use store::{Database, Store};

use crate::support::{Socket, Stage, id, post, until};

fn from_now(milliseconds: i64) -> String {
    Timestamp::from_milliseconds(Timestamp::now().milliseconds() + milliseconds).to_string()
}

#[tokio::test]
async fn a_new_token_may_only_look() {
    let mut stage = Stage::chat().await;
    let made = stage.socket.ok("token/create", json!({ "name": "plain" })).await;
    assert_eq!(made["token"]["role"], "reader");
    assert!(made["token"].get("expires_at").is_none());
}

#[tokio::test]
async fn a_token_expires_with_its_connections() {
    let mut stage = Stage::chat().await;
    stage.socket.refused(-32602, "token/create", json!({ "name": "late", "expires_at": from_now(-1) })).await;
    // Long enough to connect on a busy machine.
    let made = json!({ "name": "short", "expires_at": from_now(1500) });
    let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
    let mut short = Socket::connect(&stage.gateway, &secret).await;
    short.ok("workspace/list", json!({})).await;
    // The client sends nothing and is disconnected anyway.
    let (code, reason) = short.closed().await.unwrap();
    assert_eq!((code, reason.as_str()), (1008, "the token is no longer valid"));
}

/// Covers a lost wake and a database that was unavailable at that moment.
#[tokio::test]
async fn a_revoked_token_loses_connections_without_a_wake() {
    let mut stage = Stage::chat().await;
    let made = stage.socket.ok("token/create", json!({ "name": "listener" })).await;
    let mut listener = Socket::connect(&stage.gateway, made["secret"].as_str().unwrap()).await;
    listener.ok("events/subscribe", stage.with(json!({}))).await;
    // Revokes from another process's point of view: this store wakes only its own listeners, so the gateway gets no
    // wake.
    let database = Database::Sqlite(stage.gateway.data().join("foreword.db"));
    let beside = Store::open(&database).await.unwrap();
    let token = made["token"]["id"].as_str().unwrap().parse().unwrap();
    beside.revoke_token(&token, None).await.unwrap();
    beside.close().await;
    let (code, reason) = listener.closed().await.unwrap();
    assert_eq!((code, reason.as_str()), (1008, "the token is no longer valid"));
    stage.socket.ok("workspace/list", json!({})).await;
}

#[tokio::test]
async fn a_revoked_tokens_running_turn_ends() {
    let mut stage = Stage::chat().await;
    let made = json!({ "name": "helper", "role": "operator", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
    let mut helper = Socket::connect(&stage.gateway, &secret).await;
    stage.model.answer(Answer::silence());
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "hello" }));
    let turn = id(&helper.ok("turn/start", params).await["turn"]);
    until("the model to be asked", async || stage.model.requests().len() == 1).await;
    stage.socket.ok("token/revoke", json!({ "name": "helper" })).await;
    let ended = stage.ended(&turn).await;
    assert_eq!(ended["turn"]["status"], "cancelled");
    until("the provider to notice", async || stage.model.abandoned() == 1).await;
}

#[tokio::test]
async fn a_turn_ends_with_its_token_despite_a_reused_name() {
    let mut stage = Stage::chat().await;
    let made = json!({ "name": "helper", "role": "operator", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", &made).await["secret"].as_str().unwrap().to_owned();
    let mut helper = Socket::connect(&stage.gateway, &secret).await;
    stage.model.answer(Answer::silence());
    let params = stage.with(json!({ "thread_id": stage.thread, "input": "hello" }));
    let turn = id(&helper.ok("turn/start", params).await["turn"]);
    until("the model to be asked", async || stage.model.requests().len() == 1).await;
    // Sent as one batch, so that the sweep for revoked tokens cannot run in between.
    let again = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "token/revoke", "params": { "name": "helper" } },
        { "jsonrpc": "2.0", "id": 2, "method": "token/create", "params": made },
    ]);
    let owner = stage.gateway.owner_secret().unwrap();
    assert_eq!(post(&stage.gateway, &owner, again.to_string()).await.status, 200);
    // The turn belongs to the token's id. If it belonged to the name, the new token would keep it alive.
    assert_eq!(stage.ended(&turn).await["turn"]["status"], "cancelled");
}

#[tokio::test]
async fn no_token_takes_the_name_of_what_has_none() {
    let mut stage = Stage::chat().await;
    for reserved in ["stdio", "gateway"] {
        stage.socket.refused(-32602, "token/create", json!({ "name": reserved })).await;
    }
}

#[tokio::test]
async fn a_bound_owner_sets_no_root_and_sees_no_metrics() {
    let mut stage = Stage::chat().await;
    let made = json!({ "name": "boss", "role": "owner", "workspace_id": stage.workspace });
    let secret = stage.socket.ok("token/create", made).await["secret"].as_str().unwrap().to_owned();
    let mut boss = Socket::connect(&stage.gateway, &secret).await;
    boss.ok("workspace/update", stage.with(json!({ "name": "renamed" }))).await;
    for setting in [json!({ "root_path": "/tmp" }), json!({ "agents": {} })] {
        boss.refused(-32003, "workspace/update", stage.with(setting)).await;
    }
    let answer = crate::support::get(&stage.gateway, "/metrics", Some(&secret)).await;
    assert_eq!(answer.status, 403);
}
