//! Access control: every method in every role and workspace, and the data visible to a token bound to a workspace.

mod audit;
mod authentication;
mod expiry;
mod rate_limit;
mod secrets;

use std::collections::BTreeSet;

use gateway::GatewaySettings;
use protocol::Role;
use protocol::method::METHODS;
use scripted_model::{Answer, ScriptedModel};
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Setting, Socket, World, ask, with_model};

/// Expected outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Y,
    /// Rejected: needs the role editor.
    E,
    /// Rejected: needs the role operator.
    P,
    /// Rejected: needs the role owner.
    O,
    /// Rejected: the token is bound to a workspace.
    X,
    /// The requested object does not exist for this token.
    N,
}

use Expected::{E, N, O, P, X, Y};

type Row = (&'static str, [Expected; 4], [Expected; 4], [Expected; 4]);

/// Method, then outcomes for a reader, an editor, an operator and an owner: with a token for all workspaces, for the
/// call's workspace, and for another one. Destructive methods come after those that need their target.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    //                                          all           this one      another
    ("initialize",                               [Y, Y, Y, Y], [Y, Y, Y, Y], [Y, Y, Y, Y]),
    ("console/code",                             [Y, Y, Y, Y], [Y, Y, Y, Y], [Y, Y, Y, Y]),
    ("workspace/create",                         [O, O, O, Y], [O, O, O, X], [O, O, O, X]),
    ("workspace/update",                         [O, O, O, Y], [O, O, O, Y], [O, O, O, X]),
    ("workspace/archive",                        [O, O, O, Y], [O, O, O, X], [O, O, O, X]),
    ("workspace/restore",                        [O, O, O, Y], [O, O, O, X], [O, O, O, X]),
    ("workspace/get",                            [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("workspace/list",                           [Y, Y, Y, Y], [Y, Y, Y, Y], [Y, Y, Y, Y]),
    ("thread/folder/create",                     [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/folder/get",                        [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/folder/rename",                     [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/folder/move",                       [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/create",                            [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/get",                               [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/rename",                            [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/move",                              [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/tree",                              [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/list",                              [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/get",                    [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/save",                   [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/agents_doc/resolve_for_thread",     [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/resolve_for_folder",     [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/history",                [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/revision",               [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/agents_doc/restore",                [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/agents_doc/archive",                [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("instructions/compare",                     [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("prompt/preview",                           [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("prompt/diff",                              [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("prompt/rebuild",                           [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("turn/start",                               [P, P, Y, Y], [P, P, Y, Y], [P, P, X, X]),
    ("turn/get",                                 [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("turn/list",                                [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("turn/cancel",                              [P, P, Y, Y], [P, P, Y, Y], [P, P, X, X]),
    ("turn/approve",                             [P, P, N, N], [P, P, N, N], [P, P, X, X]),
    ("turn/manifest",                            [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("turn/request",                             [P, P, N, N], [P, P, N, N], [P, P, X, X]),
    ("turn/explain",                             [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("turn/watch",                               [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("transcript/why",                           [N, N, N, N], [N, N, N, N], [X, X, X, X]),
    ("memory/add",                               [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("memory/list",                              [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("memory/get",                               [N, N, N, N], [N, N, N, N], [X, X, X, X]),
    ("memory/search",                            [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("memory/forget",                            [E, N, N, N], [E, N, N, N], [E, X, X, X]),
    ("memory/export",                            [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("memory/import",                            [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("session/get",                              [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("session/resume",                           [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("skill/list",                               [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("skill/get",                                [N, N, N, N], [N, N, N, N], [X, X, X, X]),
    ("mcp/status",                               [Y, Y, Y, Y], [Y, Y, Y, Y], [Y, Y, Y, Y]),
    ("events/subscribe",                         [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("events/unsubscribe",                       [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("token/create",                             [O, O, O, Y], [O, O, O, Y], [O, O, O, X]),
    ("token/list",                               [O, O, O, Y], [O, O, O, Y], [O, O, O, Y]),
    ("token/revoke",                             [O, O, O, Y], [O, O, O, Y], [O, O, O, N]),
    ("audit/list",                               [O, O, O, Y], [O, O, O, Y], [O, O, O, Y]),
    ("thread/archive",                           [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/folder/delete",                     [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
    ("thread/folder/deleted",                    [Y, Y, Y, Y], [Y, Y, Y, Y], [X, X, X, X]),
    ("thread/folder/restore",                    [E, Y, Y, Y], [E, Y, Y, Y], [E, X, X, X]),
];

/// Returns parameters that a method accepts; `who` makes names unique.
fn params(method: &str, world: &World, turn: &str, who: &str) -> Value {
    match method {
        "initialize" | "console/code" | "workspace/list" | "token/list" | "audit/list" | "mcp/status" => {
            json!({})
        }
        "transcript/why" => world.with(json!({ "thread_id": world.thread, "rule": "No such rule." })),
        "workspace/create" => json!({ "name": who, "root_path": "/srv", "agents": {} }),
        "workspace/update" => world.with(json!({ "name": format!("renamed by {who}") })),
        "thread/folder/create" => world.with(json!({ "name": who })),
        "thread/folder/rename" => world.with(json!({ "folder_id": world.folder, "name": who })),
        "thread/folder/get" | "thread/folder/move" | "thread/folder/delete" | "thread/folder/restore" => {
            world.with(json!({ "folder_id": world.folder }))
        }
        "thread/create" => world.with(json!({ "title": who })),
        "thread/rename" => world.with(json!({ "thread_id": world.thread, "title": who })),
        "thread/get" | "thread/move" | "thread/archive" | "thread/agents_doc/resolve_for_thread" => {
            world.with(json!({ "thread_id": world.thread }))
        }
        "thread/list" => world.with(json!({ "limit": 1 })),
        "thread/agents_doc/save" => world.with(json!({ "folder_id": world.folder, "content": who })),
        "thread/agents_doc/revision" | "thread/agents_doc/restore" => {
            world.with(json!({ "folder_id": world.folder, "version": 1 }))
        }
        "instructions/compare" => world.with(json!({ "agents": ["codex"] })),
        "prompt/preview" => world.with(json!({ "thread_id": world.thread })),
        "prompt/diff" => world.with(json!({ "thread_id": world.thread, "turn_id": turn })),
        "turn/start" => world.with(json!({ "thread_id": world.thread, "input": who })),
        "memory/add" => world.with(json!({ "scope": "workspace", "category": "fact", "text": who })),
        "memory/get" | "memory/forget" => world.with(json!({ "id": "nowhere" })),
        "memory/search" => world.with(json!({ "query": who })),
        "memory/import" => world.with(json!({ "items": [{ "category": "fact", "text": who }] })),
        "turn/list" | "session/get" | "session/resume" => world.with(json!({ "thread_id": world.thread })),
        "turn/approve" => world.with(json!({ "turn_id": turn, "call_id": "1", "allow": true })),
        "prompt/rebuild" | "turn/request" => world.with(json!({ "turn_id": turn })),
        _ if method.starts_with("turn/") => world.with(json!({ "turn_id": turn })),
        "skill/get" => world.with(json!({ "slug": "none" })),
        "token/create" => world.with(json!({ "name": format!("made by {who}"), "role": "reader" })),
        "token/revoke" => json!({ "name": format!("for {who}") }),
        _ if method.starts_with("thread/agents_doc/") => world.with(json!({ "folder_id": world.folder })),
        _ => world.with(json!({})),
    }
}

fn check(method: &str, who: &str, answer: &Result<Value, Value>, expected: Expected) {
    let code = answer.as_ref().err().map(|error| error["code"].as_i64().unwrap());
    let needed = answer.as_ref().err().and_then(|error| error["data"].get("needed_role"));
    let (expected_code, expected_role) = match expected {
        Y => (None, None),
        E => (Some(-32003), Some(json!("editor"))),
        P => (Some(-32003), Some(json!("operator"))),
        O => (Some(-32003), Some(json!("owner"))),
        X => (Some(-32003), None),
        N => (Some(-32004), None),
    };
    assert_eq!((code, needed), (expected_code, expected_role.as_ref()), "{method} by {who}: {answer:?}");
}

#[test]
fn the_table_has_every_method_once() {
    let listed: BTreeSet<&str> = TABLE.iter().map(|(method, ..)| *method).collect();
    let known: BTreeSet<&str> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(listed, known);
    assert_eq!(TABLE.len(), METHODS.len());
}

#[tokio::test]
async fn every_method_is_limited_to_its_roles() {
    let model = ScriptedModel::start().await.unwrap();
    model.answer_by(|_| Answer::text("yes"));
    let with = |settings: &mut GatewaySettings| with_model(settings, &model, &Setting::default());
    let gateway = TestGateway::start_with(with).await.unwrap();
    let owner = gateway.owner_in_memory();
    let elsewhere = World::new(&gateway, "elsewhere").await;
    let here = World::new(&gateway, "here").await.workspace;
    let directory = tempfile::tempdir().unwrap();
    let rooted = json!({ "workspace_id": here, "root_path": directory.path() });
    ask(&owner, "workspace/update", rooted).await.unwrap();
    for (role_index, role) in Role::ALL.into_iter().enumerate() {
        for (binding, bound_to) in
            [("all", None), ("this", Some(&here)), ("another", Some(&elsewhere.workspace))]
        {
            let who = format!("{role} of {binding}");
            // Every caller gets fresh objects, because an earlier caller may have changed or deleted the shared ones.
            let world = World::grow(&owner, here.clone()).await;
            let save = world.with(json!({ "folder_id": world.folder, "content": "first" }));
            ask(&owner, "thread/agents_doc/save", save).await.unwrap();
            let workspace_id = here.parse().unwrap();
            let thread_id = world.thread.parse().unwrap();
            let turn = gateway.silent_turn(&workspace_id, &thread_id).await.unwrap();
            // `token/revoke` needs a target of its own, because the first caller that may revoke a token removes it.
            let victim = format!("for {who}");
            gateway.token(&victim, Role::Reader, Some(here.parse().unwrap())).await.unwrap();

            let bound_to = bound_to.map(|workspace| workspace.parse().unwrap());
            let secret = gateway.token(&who, role, bound_to).await.unwrap();
            let mut socket = Socket::connect(&gateway, &secret).await;
            for (method, all, this, another) in TABLE {
                let expected = match binding {
                    "all" => all,
                    "this" => this,
                    _ => another,
                };
                let answer = socket.call(method, params(method, &world, turn.as_str(), &who)).await;
                check(method, &who, &answer, expected[role_index]);
            }
        }
    }
}

#[tokio::test]
async fn a_refused_call_changes_nothing() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let owner = gateway.owner_in_memory();
    let before = ask(&owner, "thread/tree", world.with(json!({}))).await.unwrap();
    let reader = gateway.token("reader", Role::Reader, None).await.unwrap();
    let mut reader = Socket::connect(&gateway, &reader).await;
    // The role is checked before anything else, so even parameters that name real objects must have no effect.
    for (method, ..) in TABLE.iter().filter(|(_, all, ..)| all[0] != Y) {
        reader.call(method, params(method, &world, "none", "reader")).await.unwrap_err();
    }
    assert_eq!(ask(&owner, "thread/tree", world.with(json!({}))).await.unwrap(), before);
    let tokens = ask(&owner, "token/list", json!({})).await.unwrap();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 2, "the owner's and the reader's");
}

#[tokio::test]
async fn a_bound_token_sees_only_its_workspace() {
    let gateway = TestGateway::start().await.unwrap();
    let here = World::new(&gateway, "here").await;
    World::new(&gateway, "elsewhere").await;
    for role in Role::ALL {
        let bound_to = Some(here.workspace.parse().unwrap());
        let secret = gateway.token(&format!("bound {role}"), role, bound_to).await.unwrap();
        let listed = Socket::connect(&gateway, &secret).await.ok("workspace/list", json!({})).await;
        let names: Vec<&Value> =
            listed["workspaces"].as_array().unwrap().iter().map(|each| &each["name"]).collect();
        assert_eq!(names, ["here"], "{role}");
    }
    let all = Socket::owner(&gateway).await.ok("workspace/list", json!({})).await;
    assert_eq!(all["workspaces"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_bound_owner_has_only_the_tokens_of_its_workspace() {
    let gateway = TestGateway::start().await.unwrap();
    let here = World::new(&gateway, "here").await;
    let elsewhere = World::new(&gateway, "elsewhere").await;
    gateway.token("theirs", Role::Reader, Some(elsewhere.workspace.parse().unwrap())).await.unwrap();
    gateway.token("everywhere", Role::Reader, None).await.unwrap();
    let secret = gateway.token("ours", Role::Owner, Some(here.workspace.parse().unwrap())).await.unwrap();
    let mut socket = Socket::connect(&gateway, &secret).await;

    let made = socket.ok("token/create", here.with(json!({ "name": "helper", "role": "owner" }))).await;
    assert_eq!(made["token"]["workspace_id"], here.workspace.as_str());
    assert_eq!(made["token"]["created_by"], "ours");
    let for_elsewhere = elsewhere.with(json!({ "name": "spy", "role": "reader" }));
    socket.refused(-32003, "token/create", for_elsewhere).await;
    socket.refused(-32003, "token/create", json!({ "name": "spy", "role": "reader" })).await;

    let listed = socket.ok("token/list", json!({})).await;
    let names: Vec<&Value> =
        listed["tokens"].as_array().unwrap().iter().map(|token| &token["name"]).collect();
    assert_eq!(names, ["ours", "helper"]);

    // Existing tokens of others and a missing one get the same answer, so a bound owner cannot guess names.
    for hidden in ["theirs", "everywhere", "owner", "no such token"] {
        let data = socket.refused(-32004, "token/revoke", json!({ "name": hidden })).await;
        assert_eq!((&data["what"], &data["id"]), (&json!("token"), &json!(hidden)));
    }
    let revoked = socket.ok("token/revoke", json!({ "name": "helper" })).await;
    assert!(revoked["token"]["revoked_at"].is_string());
}

#[tokio::test]
async fn changes_carry_the_tokens_name() {
    let gateway = TestGateway::start().await.unwrap();
    let world = World::new(&gateway, "w").await;
    let first = gateway.token("ann", Role::Editor, None).await.unwrap();
    let second = gateway.token("bob", Role::Editor, Some(world.workspace.parse().unwrap())).await.unwrap();
    let mut ann = Socket::connect(&gateway, &first).await;
    let mut bob = Socket::connect(&gateway, &second).await;
    ann.ok("thread/agents_doc/save", world.with(json!({ "content": "a" }))).await;
    let doc = bob.ok("thread/agents_doc/save", world.with(json!({ "content": "b" }))).await["doc"].clone();
    assert_eq!((&doc["created_by"], &doc["updated_by"]), (&json!("ann"), &json!("bob")));
    let history = ann.ok("thread/agents_doc/history", world.with(json!({}))).await;
    let savers: Vec<&Value> =
        history["revisions"].as_array().unwrap().iter().map(|each| &each["saved_by"]).collect();
    assert_eq!(savers, ["bob", "ann"]);
}

#[tokio::test]
async fn names_of_live_tokens_are_taken() {
    let gateway = TestGateway::start().await.unwrap();
    let mut owner = Socket::owner(&gateway).await;
    owner.ok("token/create", json!({ "name": "ci", "role": "reader" })).await;
    let data = owner.refused(-32010, "token/create", json!({ "name": "ci", "role": "editor" })).await;
    assert_eq!((&data["what"], &data["id"]), (&json!("token"), &json!("ci")));
    owner.ok("token/revoke", json!({ "name": "ci" })).await;
    owner.ok("token/create", json!({ "name": "ci", "role": "editor" })).await;
    owner.refused(-32602, "token/create", json!({ "name": " ", "role": "editor" })).await;
    owner.refused(-32602, "token/create", json!({ "name": "x", "role": "admin" })).await;
    let unknown = json!({ "name": "x", "role": "reader", "workspace_id": "no-such-workspace" });
    assert_eq!(owner.refused(-32004, "token/create", unknown).await["what"], "workspace");
}
