//! Twenty children of five concurrent parents, compared with the same requests made with the provider crate alone and
//! with as many turns without delegation.

use anyhow::Context as _;
use client::Client;
use futures_util::future::try_join_all;
use measure::{Comparison, Effort, Rounds};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, ThreadCreate, ThreadCreateParams, TurnStart, TurnStartParams,
    WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::notification::{Notification as _, TurnCompleted, TurnFailed};
use protocol::{ThreadMode, WorkspaceId};
use provider::{ChatRequest, Message, Provider};
use scripted_model::{Answer, RecordedRequest, ScriptedModel};
use test_gateway::TestGateway;

use crate::model::{self, MODEL};

const PARENTS: usize = 5;
const CHILDREN: usize = 4;
/// Prompt of a model that delegates.
const DELEGATES: &str = "Let others do it.";
const PLAIN: &str = "Is it so?";

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let model = ScriptedModel::start().await?;
    model.answer_by(answer);
    let provider = model::provider(&model)?;
    let gateway = TestGateway::start_with(|settings| {
        model::install(settings, provider.clone());
        settings.agent.turns.limits.running_in_workspace = (PARENTS * CHILDREN) as u64;
    })
    .await?;
    let project = tempfile::tempdir()?;
    let room = tokio::sync::Mutex::new(Room::new(gateway.owner().await?, project.path()).await?);
    let comparison = Comparison::against("provider crate, the same requests", async || {
        ask(&provider, PARENTS).await?;
        ask(&provider, PARENTS * CHILDREN).await?;
        ask(&provider, PARENTS).await
    })
    .with("as many turns, none delegated", async || {
        let mut room = room.lock().await;
        room.run(PARENTS, PLAIN, PARENTS).await?;
        room.run(PARENTS * CHILDREN, PLAIN, PARENTS * CHILDREN).await
    })
    .with("five turns and their children", async || {
        room.lock().await.run(PARENTS, DELEGATES, PARENTS * (CHILDREN + 1)).await
    });
    let rounds = Rounds { warm_up: 1, measured: effort.choose(3, 20) };
    let figures = comparison.run(rounds).await?;
    println!("## {} children of {PARENTS} turns at once, SQLite\n\n{figures}", PARENTS * CHILDREN);
    drop(room);
    gateway.stop().await?;
    Ok(())
}

/// Delegates if the prompt requests it, and answers everything else.
fn answer(request: &RecordedRequest) -> Answer {
    let messages = request.body["messages"].as_array().map_or(0, Vec::len);
    if messages > 1 || !request.body["messages"].to_string().contains(DELEGATES) {
        return Answer::text("Yes.");
    }
    (0..CHILDREN).fold(Answer::empty(), |answer, number| {
        let goal = serde_json::json!({ "goal": format!("Look at number {number}.") }).to_string();
        answer.tool_call(&format!("call_{number}"), "delegate", &goal)
    })
}

/// Sends `count` requests concurrently.
async fn ask(provider: &Provider, count: usize) -> anyhow::Result<()> {
    let request = ChatRequest::new(MODEL, vec![Message::user(PLAIN)]);
    try_join_all((0..count).map(|_| provider.complete(&request))).await?;
    Ok(())
}

/// A workspace with a directory, and a client in it.
struct Room {
    client: Client,
    workspace_id: WorkspaceId,
}

impl Room {
    async fn new(client: Client, root: &std::path::Path) -> anyhow::Result<Self> {
        let root_path = Some(root.to_string_lossy().into_owned());
        let params = WorkspaceCreateParams { name: "delegation".to_owned(), root_path, agents: None };
        let workspace_id = client.call::<WorkspaceCreate>(&params).await?.workspace.id;
        let params =
            EventsSubscribeParams { workspace_id: workspace_id.clone(), since: None, instance: None };
        client.call::<EventsSubscribe>(&params).await?;
        Ok(Self { client, workspace_id })
    }

    /// Starts a turn in each of `threads` new threads, and waits until `turns` turns have ended.
    async fn run(&mut self, threads: usize, input: &str, turns: usize) -> anyhow::Result<()> {
        let client = &self.client;
        let workspace_id = &self.workspace_id;
        let begin = async |_| {
            let params = ThreadCreateParams {
                workspace_id: workspace_id.clone(),
                folder_id: None,
                title: "t".to_owned(),
                mode: ThreadMode::Agent,
            };
            let thread_id = client.call::<ThreadCreate>(&params).await?.thread.id;
            client.call::<TurnStart>(&TurnStartParams::new(workspace_id, &thread_id, input)).await?;
            anyhow::Ok(())
        };
        try_join_all((0..threads).map(begin)).await?;
        let mut ended = 0;
        while ended < turns {
            let notification = self.client.notification().await.context("the connection ended")?;
            match notification.method.as_str() {
                TurnCompleted::NAME => ended += 1,
                TurnFailed::NAME => anyhow::bail!("a turn failed: {}", notification.params),
                _ => {}
            }
        }
        Ok(())
    }
}
