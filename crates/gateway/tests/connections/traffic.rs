//! Real traffic validates against the published schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jsonschema::Validator;
use protocol::method::{self, METHODS};
use protocol::notification::NOTIFICATIONS;
use scripted_model::{Answer, ScriptedModel};
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{MODEL, Setting, Socket, World, id, with_model};

/// Returns the published schemas by type name, or the generated ones if no files were published.
fn schemas() -> BTreeMap<String, Validator> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let published = |name: &str| match std::fs::read(directory.join(format!("{name}.json"))) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(error) => {
            assert!(!directory.exists(), "there is no schema file for {name}: {error}");
            None
        }
    };
    protocol::schema::all()
        .iter()
        .map(|(name, generated)| {
            let schema: Value = published(name).unwrap_or_else(|| serde_json::to_value(generated).unwrap());
            let validator = jsonschema::options().should_validate_formats(true).build(&schema);
            (name.clone(), validator.unwrap_or_else(|error| panic!("{name} is no schema: {error}")))
        })
        .collect()
}

/// Calls every method successfully with every parameter it has, following the workspace from its beginning.
async fn walk(gateway: &TestGateway, model: &ScriptedModel, socket: &mut Socket) {
    socket.ok("initialize", json!({ "client": { "name": "walk", "version": "1" } })).await;
    socket.ok("console/code", json!({})).await;
    let agents = json!({
        "enabled": true,
        "root": { "projectRootOverride": "/srv", "markers": [".git"], "stopAtFsRoot": true },
        "initial": { "maxFiles": 4, "maxBytes": 1024 },
        "resolver": { "enabled": false, "maxFilesPerResolve": 2 },
    });
    let made =
        socket.ok("workspace/create", json!({ "name": "w", "root_path": "/srv", "agents": agents })).await;
    let workspace = id(&made["workspace"]);
    let with = |others: Value| {
        let mut params = json!({ "workspace_id": workspace });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    };
    socket.ok("events/subscribe", with(json!({ "since": 0 }))).await;
    socket.ok("workspace/update", with(json!({ "name": "v", "root_path": "/usr", "agents": {} }))).await;
    socket.ok("workspace/get", with(json!({}))).await;
    socket.ok("workspace/archive", with(json!({}))).await;
    socket.ok("workspace/list", json!({ "archived": true })).await;
    socket.ok("workspace/restore", with(json!({}))).await;
    socket.ok("workspace/list", json!({})).await;

    let outer = id(&socket.ok("thread/folder/create", with(json!({ "name": "outer" }))).await["folder"]);
    let inner = with(json!({ "name": "inner", "parent_folder_id": outer }));
    let inner = id(&socket.ok("thread/folder/create", inner).await["folder"]);
    let thread = with(json!({ "title": "t", "folder_id": inner, "mode": "agent" }));
    let thread = id(&socket.ok("thread/create", thread).await["thread"]);
    socket.ok("thread/folder/get", with(json!({ "folder_id": inner }))).await;
    socket.ok("thread/folder/rename", with(json!({ "folder_id": inner, "name": "core" }))).await;
    socket.ok("thread/get", with(json!({ "thread_id": thread }))).await;
    socket.ok("thread/rename", with(json!({ "thread_id": thread, "title": "u" }))).await;

    // One character over the prompt's budget, so that the answer has a warning for the schema to check.
    let long = "x".repeat(16_001);
    let save =
        json!({ "folder_id": inner, "content": long, "expected_version": 0, "save_reason": "autosave" });
    socket.ok("thread/agents_doc/save", with(save)).await;
    socket.ok("thread/agents_doc/save", with(json!({ "content": "root" }))).await;
    socket.ok("thread/agents_doc/save", with(json!({ "folder_id": outer, "content": " " }))).await;
    let scope = with(json!({ "folder_id": inner }));
    socket.ok("thread/agents_doc/get", &scope).await;
    socket.ok("thread/agents_doc/resolve_for_folder", &scope).await;
    socket.ok("thread/agents_doc/resolve_for_thread", with(json!({ "thread_id": thread }))).await;
    socket.ok("thread/tree", with(json!({}))).await;
    socket.ok("thread/tree", with(json!({ "depth": 0, "thread_limit": 0 }))).await;
    socket.ok("thread/list", with(json!({ "folder_id": inner, "limit": 1 }))).await;
    socket.ok("thread/agents_doc/archive", with(json!({ "folder_id": inner, "expected_version": 1 }))).await;
    let page = json!({ "folder_id": inner, "limit": 10, "before": 9 });
    socket.ok("thread/agents_doc/history", with(page)).await;
    socket.ok("thread/agents_doc/revision", with(json!({ "folder_id": inner, "version": 2 }))).await;
    let restore = json!({ "folder_id": inner, "version": 1, "expected_version": 0 });
    socket.ok("thread/agents_doc/restore", with(restore)).await;

    remember(socket, &with, &thread).await;
    socket.ok("thread/move", with(json!({ "thread_id": thread }))).await;
    socket.ok("transcript/why", with(json!({ "thread_id": thread, "rule": "root" }))).await;
    socket.ok("thread/archive", with(json!({ "thread_id": thread }))).await;
    socket.ok("thread/folder/move", with(json!({ "folder_id": inner }))).await;
    socket.ok("thread/folder/delete", with(json!({ "folder_id": inner }))).await;
    socket.ok("thread/folder/deleted", with(json!({}))).await;
    socket.ok("thread/folder/restore", with(json!({ "folder_id": inner }))).await;
    socket.ok("thread/folder/delete", with(json!({ "folder_id": inner }))).await;
    socket.ok("token/create", with(json!({ "name": "bound", "role": "reader" }))).await;
    socket.ok("token/create", json!({ "name": "unbound", "role": "editor" })).await;
    socket.ok("token/revoke", json!({ "name": "bound" })).await;
    let audited = socket.ok("audit/list", json!({ "since": "2020-01-01T00:00:00Z", "limit": 500 })).await;
    socket.ok("audit/list", json!({ "before": audited["entries"][0]["id"], "limit": 1 })).await;
    socket.ok("token/list", json!({})).await;
    socket.ok("mcp/status", json!({})).await;
    look_at_prompts(gateway, socket).await;
    take_turns(model, socket).await;
    stumble(socket, &workspace, &outer).await;
    socket.ok("events/unsubscribe", with(json!({}))).await;
}

/// Calls every memory method.
async fn remember(socket: &mut Socket, with: &impl Fn(Value) -> Value, thread: &str) {
    let add = json!({ "scope": "thread", "thread_id": thread, "category": "fact", "text": "one", "expires_at": "2099-01-01T00:00:00Z" });
    let item = id(&socket.ok("memory/add", with(add)).await["item"]);
    let add = json!({ "scope": "user", "category": "fact", "text": "two", "supersedes": item });
    let newer = id(&socket.ok("memory/add", with(add)).await["item"]);
    socket
        .ok("memory/list", with(json!({ "scope": "user", "thread_id": thread, "limit": 1, "before": newer })))
        .await;
    socket.ok("memory/list", with(json!({ "status": "superseded" }))).await;
    socket.ok("memory/get", with(json!({ "id": item }))).await;
    socket.ok("memory/search", with(json!({ "query": "two", "thread_id": thread, "limit": 1 }))).await;
    socket.ok("memory/export", with(json!({ "after": item }))).await;
    let items = json!([{ "scope": "workspace", "category": "fact", "text": "three" }, { "category": "fact", "text": "" }]);
    socket.ok("memory/import", with(json!({ "items": items }))).await;
    socket.ok("memory/forget", with(json!({ "id": newer }))).await;
}

/// Uses a separate workspace without subscribers.
async fn look_at_prompts(gateway: &TestGateway, socket: &mut Socket) {
    let world = World::new(gateway, "prompts").await;
    let workspace = world.workspace.parse().unwrap();
    let thread = world.thread.parse().unwrap();
    socket.ok("workspace/update", world.with(json!({ "root_path": "/usr" }))).await;
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "x".repeat(20_000) }))).await;
    let turn = gateway.silent_turn(&workspace, &thread).await.unwrap();
    socket.ok("thread/agents_doc/save", world.with(json!({ "content": "other" }))).await;
    let other = gateway.silent_turn(&workspace, &thread).await.unwrap();
    let compare = json!({ "path": "/usr", "reading": "bin/x", "agents": ["codex", "claude-code"] });
    socket.ok("instructions/compare", world.with(compare)).await;
    let preview =
        json!({ "thread_id": thread, "cwd": "/usr", "input": "hello", "context": "here", "skills": [] });
    socket.ok("prompt/preview", world.with(preview)).await;
    socket
        .ok("prompt/diff", world.with(json!({ "thread_id": thread, "turn_id": turn, "cwd": "/usr" })))
        .await;
    let pair = json!({ "thread_id": thread, "turn_id": turn, "other_turn_id": other });
    socket.ok("prompt/diff", world.with(pair)).await;
    socket.ok("prompt/rebuild", world.with(json!({ "turn_id": turn, "round": 1 }))).await;
    socket.ok("turn/manifest", world.with(json!({ "turn_id": turn }))).await;
}

/// Runs turns that end in every way.
async fn take_turns(model: &ScriptedModel, socket: &mut Socket) {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("AGENTS.md"), "be brief").unwrap();
    let skill = project.path().join(".agents/skills/lend");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: lend\ndescription: Lend\nlicense: MIT\n---\nAsk.\n")
        .unwrap();
    let made = socket.ok("workspace/create", json!({ "name": "turns", "root_path": project.path() })).await;
    let workspace = id(&made["workspace"]);
    let with = |others: Value| {
        let mut params = json!({ "workspace_id": workspace });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    };
    socket.ok("events/subscribe", with(json!({ "since": 0 }))).await;
    let made = socket.ok("thread/create", with(json!({ "title": "t", "mode": "agent" }))).await;
    let thread = id(&made["thread"]);
    let model_name = format!("scripted/{MODEL}");
    let start = with(
        json!({ "thread_id": thread, "input": "hi", "cwd": project.path(), "model": model_name, "context": "here" }),
    );
    model.answer(Answer::text("hello").tool_call("1", "write_file", r#"{"path":"a","content":"x"}"#));
    model.answer(Answer::text("written"));
    let turn = id(&socket.ok("turn/start", &start).await["turn"]);
    let digest = told(socket, "turn/approval_requested").await["params"]["digest"].clone();
    socket.ok("turn/get", with(json!({ "turn_id": turn }))).await;
    socket.ok("turn/watch", with(json!({ "turn_id": turn }))).await;
    socket
        .ok("turn/approve", with(json!({ "turn_id": turn, "call_id": "1", "allow": true, "digest": digest })))
        .await;
    told(socket, "turn/completed").await;
    std::fs::write(project.path().join("AGENTS.md"), "be verbose").unwrap();
    socket.ok("session/resume", with(json!({ "thread_id": thread, "cwd": project.path() }))).await;
    model.answer(Answer::context_too_long());
    model.answer(Answer::text("a summary"));
    model.answer(Answer::text("short"));
    socket.ok("turn/start", &start).await;
    told(socket, "turn/completed").await;
    model.answer(Answer::rate_limited("0"));
    model.answer(Answer::wrong_key());
    let turn = id(&socket.ok("turn/start", &start).await["turn"]);
    told(socket, "turn/failed").await;
    for method in ["turn/get", "turn/explain", "turn/manifest", "turn/request"] {
        socket.ok(method, with(json!({ "turn_id": turn }))).await;
    }
    model.answer(Answer::silence());
    let turn = id(&socket.ok("turn/start", &start).await["turn"]);
    socket.ok("turn/cancel", with(json!({ "turn_id": turn }))).await;
    told(socket, "turn/cancelled").await;
    socket.ok("skill/list", with(json!({ "thread_id": thread, "cwd": project.path() }))).await;
    socket.ok("skill/get", with(json!({ "slug": "lend" }))).await;
    socket.ok("turn/list", with(json!({ "thread_id": thread, "limit": 2, "before": 3 }))).await;
    socket.ok("session/get", with(json!({ "thread_id": thread }))).await;
    let nobody = with(json!({ "thread_id": thread, "input": "hi", "model": "nobody/x" }));
    socket.refused(-32004, "turn/start", nobody).await;
    let without_key = with(json!({ "thread_id": thread, "input": "hi", "model": "openai/x" }));
    socket.refused(-32050, "turn/start", without_key).await;
    socket.ok("events/unsubscribe", with(json!({}))).await;
}

/// Waits for a notification.
async fn told(socket: &mut Socket, method: &str) -> Value {
    loop {
        let notification = socket.notification().await;
        if notification["method"] == method {
            return notification;
        }
    }
}

/// Provokes every error a client alone can cause.
async fn stumble(socket: &mut Socket, workspace: &str, folder: &str) {
    let conflict = json!({ "workspace_id": workspace, "content": "x", "expected_version": 7 });
    socket.refused(-32009, "thread/agents_doc/save", conflict).await;
    let large = json!({ "workspace_id": workspace, "content": "x".repeat(65_537) });
    socket.refused(-32013, "thread/agents_doc/save", large).await;
    let below = json!({ "workspace_id": workspace, "folder_id": folder, "parent_folder_id": folder });
    socket.refused(-32011, "thread/folder/move", below).await;
    socket.refused(-32004, "thread/tree", json!({ "workspace_id": "nowhere" })).await;
    socket.refused(-32010, "token/create", json!({ "name": "unbound", "role": "editor" })).await;
    socket.refused(-32601, "no/such/method", json!({})).await;
    socket.refused(-32602, "workspace/get", json!({ "workspace_id": "" })).await;
    let unknown = json!({ "workspace_id": workspace, "since": 1_000_000 });
    socket.refused(-32012, "events/subscribe", unknown).await;
    socket.send("not JSON").await;
    socket.receive().await;
    socket.send("{}").await;
    socket.receive().await;
}

struct Recorded {
    schemas: BTreeMap<String, Validator>,
    /// Method by id of the requests that were not answered yet.
    waiting: BTreeMap<u64, (String, Value)>,
    seen: BTreeSet<String>,
}

impl Recorded {
    fn check(&self, type_name: &str, value: &Value) {
        let validator = self.schemas.get(type_name).unwrap_or_else(|| panic!("no schema of {type_name}"));
        let problems: Vec<String> = validator
            .iter_errors(value)
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert!(problems.is_empty(), "not a {type_name}: {problems:#?}\n{value:#}");
    }

    fn add(&mut self, message: &Value) {
        let id = message.get("id").and_then(Value::as_u64);
        if let Some(name) = message.get("method").and_then(Value::as_str) {
            let params = message["params"].clone();
            match id {
                Some(id) => drop(self.waiting.insert(id, (name.to_owned(), params))),
                None => {
                    let known = NOTIFICATIONS.iter().find(|known| known.name == name);
                    self.check(known.unwrap_or_else(|| panic!("unknown {name}")).params_type, &params);
                    // The origin is merged into every logged notification and has a schema of its own. Deltas are not
                    // logged and have none.
                    if params.get("seq").is_some() {
                        self.check("ChangeOrigin", &params);
                    }
                    self.seen.insert(name.to_owned());
                }
            }
        } else if let Some(error) = message.get("error") {
            self.check("ErrorObject", error);
            self.seen.insert(format!("error {}", error["data"]["kind"].as_str().unwrap()));
            drop(id.map(|id| self.waiting.remove(&id)));
        } else {
            let (name, params) = self.waiting.remove(&id.unwrap()).unwrap();
            let spec = method::find(&name).unwrap();
            self.check(spec.params_type, &params);
            self.check(spec.result_type, &message["result"]);
            self.seen.insert(name);
        }
    }
}

#[tokio::test]
async fn recorded_traffic_matches_the_schemas() {
    let model = ScriptedModel::start().await.unwrap();
    let with = |settings: &mut gateway::GatewaySettings| with_model(settings, &model, &Setting::default());
    let gateway = TestGateway::start_with(with).await.unwrap();
    let mut socket = Socket::owner(&gateway).await;
    walk(&gateway, &model, &mut socket).await;
    let reader = gateway.token("reader", protocol::Role::Reader, None).await.unwrap();
    let mut forbidden = Socket::connect(&gateway, &reader).await;
    forbidden.refused(-32003, "token/list", json!({})).await;

    let mut recorded = Recorded { schemas: schemas(), waiting: BTreeMap::new(), seen: BTreeSet::new() };
    for message in socket.traffic.iter().chain(&forbidden.traffic) {
        recorded.add(message);
    }
    let methods = METHODS.iter().map(|method| method.name.to_owned());
    let notifications = NOTIFICATIONS.iter().map(|notification| notification.name.to_owned());
    for name in methods.chain(notifications) {
        assert!(recorded.seen.contains(&name), "{name} was not part of the walk");
    }
    // The remaining kinds need a failing gateway or hook, a wrong token, or a limit that is disabled or unreachable by
    // default.
    let elsewhere = ["internal_error", "unauthenticated", "rate_limited", "limit_reached", "hook_failed"];
    for (kind, ..) in protocol::ErrorKind::TABLE {
        let kind = json!(kind).as_str().unwrap().to_owned();
        let expected = !elsewhere.contains(&kind.as_str());
        assert_eq!(recorded.seen.contains(&format!("error {kind}")), expected, "{kind}");
    }
}

#[test]
fn the_schemas_refuse_what_the_gateway_refuses() {
    let schemas = schemas();
    for (name, value) in [
        ("WorkspaceGetParams", json!({ "workspace_id": "" })),
        ("WorkspaceGetParams", json!({ "workspace_id": "w", "other": 1 })),
        ("WorkspaceListParams", json!({ "other": 1 })),
        ("DocumentHistoryParams", json!({ "workspace_id": "w", "limit": 0 })),
        ("DocumentHistoryParams", json!({ "workspace_id": "w", "limit": 501 })),
        ("DocumentSaveParams", json!({ "workspace_id": "w", "content": "", "expected_version": -1 })),
        ("DocumentSaveParams", json!({ "workspace_id": "w" })),
        ("TokenCreateParams", json!({ "name": "x", "role": "king" })),
        ("WorkspaceCreateParams", json!({ "name": "x", "agents": { "max_files": 1 } })),
        ("TreeChanged", json!({ "workspace_id": "w", "reason": "folder_created" })),
    ] {
        assert!(!schemas[name].is_valid(&value), "{name} accepts {value}");
    }
}
