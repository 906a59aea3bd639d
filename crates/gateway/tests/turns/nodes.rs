//! Two gateways on one PostgreSQL: each can report, decide and cancel, wherever a turn runs.

use gateway::Database;
use scripted_model::{Answer, ScriptedModel};
use serde_json::{Value, json};
use test_gateway::TestGateway;
use test_postgres::{TestDatabase, test_database};

use crate::support::{Setting, Socket, id, until, with_model};

/// Two gateways with a client each, and an agent's thread.
struct Nodes {
    model: ScriptedModel,
    here: Socket,
    there: Socket,
    workspace: String,
    thread: String,
    project: tempfile::TempDir,
    _gateways: [TestGateway; 2],
    _database: TestDatabase,
}

impl Nodes {
    async fn start() -> Option<Self> {
        let database = test_database()?;
        let model = ScriptedModel::start().await.unwrap();
        let start = async || {
            TestGateway::start_with(|settings| {
                settings.database = Some(Database::Postgres(database.url().to_owned()));
                with_model(settings, &model, &Setting::default());
            })
            .await
            .unwrap()
        };
        let gateways = [start().await, start().await];
        let (mut here, there) = (Socket::owner(&gateways[0]).await, Socket::owner(&gateways[1]).await);
        let project = tempfile::tempdir().unwrap();
        let made = json!({ "name": "w", "root_path": project.path() });
        let workspace = id(&here.ok("workspace/create", made).await["workspace"]);
        let made = json!({ "workspace_id": workspace, "title": "t", "mode": "agent" });
        let thread = id(&here.ok("thread/create", made).await["thread"]);
        Some(Self {
            model,
            here,
            there,
            workspace,
            thread,
            project,
            _gateways: gateways,
            _database: database,
        })
    }

    fn with(&self, others: Value) -> Value {
        let mut params = json!({ "workspace_id": self.workspace });
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        params
    }

    async fn begin(&mut self) -> String {
        let params = self.with(json!({ "thread_id": self.thread, "input": "hello" }));
        id(&self.here.ok("turn/start", params).await["turn"])
    }
}

#[tokio::test]
async fn a_call_is_allowed_through_another_gateway() {
    let Some(mut nodes) = Nodes::start().await else { return };
    let write = json!({ "path": "a.txt", "content": "new" }).to_string();
    nodes.model.answer(Answer::empty().tool_call("call_1", "write_file", &write));
    nodes.model.answer(Answer::text("Written."));
    let subscribe = nodes.with(json!({}));
    nodes.there.ok("events/subscribe", subscribe).await;
    let turn = nodes.begin().await;
    while nodes.there.notification().await["method"] != "turn/approval_requested" {}
    let get = nodes.with(json!({ "turn_id": turn }));
    let asked = nodes.there.ok("turn/get", &get).await["approvals"][0].clone();
    assert_eq!(asked["call_id"], "call_1");
    let answer = nodes.with(json!({ "turn_id": turn, "call_id": "call_1", "allow": true }));
    nodes.there.ok("turn/approve", answer).await;
    while nodes.there.notification().await["method"] != "turn/completed" {}
    assert_eq!(nodes.there.ok("turn/get", &get).await["turn"]["answer"], "Written.");
    assert_eq!(std::fs::read_to_string(nodes.project.path().join("a.txt")).unwrap(), "new");
}

#[tokio::test]
async fn a_turn_is_cancelled_through_another_gateway() {
    let Some(mut nodes) = Nodes::start().await else { return };
    nodes.model.answer(Answer::silence());
    let turn = nodes.begin().await;
    until("the model to be asked", async || nodes.model.requests().len() == 1).await;
    let params = nodes.with(json!({ "turn_id": turn }));
    assert_eq!(nodes.there.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    // The status alone is written by the other gateway. The closed connection proves that the running one has stopped
    // too.
    until("the provider to notice", async || nodes.model.abandoned() == 1).await;
}

#[tokio::test]
async fn a_thread_runs_one_turn_across_gateways() {
    let Some(mut nodes) = Nodes::start().await else { return };
    nodes.model.answer(Answer::silence());
    nodes.begin().await;
    let params = nodes.with(json!({ "thread_id": nodes.thread, "input": "me too" }));
    nodes.there.refused(-32011, "turn/start", params).await;
}
