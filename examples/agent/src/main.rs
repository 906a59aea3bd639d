//! Asks a model through the gateway on this machine and prints the instructions it had.
//!
//! ```sh
//! cargo run -p example-agent -- WORKSPACE QUESTION
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command-line program")]

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use client::{Client, Target};
use protocol::method::*;
use protocol::notification::{
    Notification as _, TurnApprovalRequested, TurnCancelled, TurnCompleted, TurnDelta, TurnFailed,
    TurnToolStarted,
};
use protocol::{HowDecided, ThreadMode, TurnId, WorkspaceId};
use serde_json::Value;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().context("which workspace?")?;
    let question = arguments.next().context("what to ask?")?;
    let data = match std::env::var_os("FOREWORD_DATA") {
        Some(data) => PathBuf::from(data),
        None => std::env::home_dir().context("no home directory")?.join(".local/share/foreword"),
    };
    let mut client = Client::connect(&Target::Local { data }).await?;
    let listed = client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.workspaces;
    let workspace = listed.into_iter().find(|workspace| workspace.name == name);
    let workspace = workspace.with_context(|| format!("there is no workspace {name}"))?.id;
    let turn = ask(&mut client, &workspace, question).await?;
    let turn = TurnGetParams { workspace_id: workspace, turn_id: turn };
    let explanation = client.call::<TurnExplain>(&turn).await?.explanation;
    for file in explanation.files {
        eprintln!(
            "had {} ({})",
            file.path,
            serde_json::to_value(file.delivery)?.as_str().unwrap_or_default()
        );
    }
    explanation.turn.error.map_or(Ok(()), |error| bail!("no answer: {}", error.message))
}

/// Asks in a new thread and prints the answer as it arrives.
async fn ask(client: &mut Client, workspace: &WorkspaceId, question: String) -> anyhow::Result<TurnId> {
    let thread = ThreadCreateParams {
        workspace_id: workspace.clone(),
        folder_id: None,
        title: question.chars().take(80).collect(),
        mode: ThreadMode::Agent,
    };
    let thread = client.call::<ThreadCreate>(&thread).await?.thread;
    let events = EventsSubscribeParams { workspace_id: workspace.clone(), since: None, instance: None };
    client.call::<EventsSubscribe>(&events).await?;
    let start = TurnStartParams::new(workspace, &thread.id, question);
    let turn = client.call::<TurnStart>(&start).await?.turn.id;
    while let Some(event) = client.notification().await {
        let params: Value = serde_json::from_str(event.params.get())?;
        let text = |name: &str| params[name].as_str().unwrap_or_default();
        match event.method.as_str() {
            _ if text("turn_id") != turn.as_str() => {}
            TurnDelta::NAME => {
                print!("{}", text("text"));
                std::io::stdout().flush()?;
            }
            TurnToolStarted::NAME => eprintln!("[{}]", text("tool")),
            TurnApprovalRequested::NAME => decide(client, workspace, &turn).await?,
            TurnCompleted::NAME | TurnFailed::NAME | TurnCancelled::NAME => break,
            _ => {}
        }
    }
    println!();
    Ok(turn)
}

/// Shows a pending tool call; only `yes` approves it.
async fn decide(client: &Client, workspace: &WorkspaceId, turn: &TurnId) -> anyhow::Result<()> {
    let turn = TurnGetParams { workspace_id: workspace.clone(), turn_id: turn.clone() };
    let waiting = client.call::<TurnGet>(&turn.clone().into()).await?.approvals;
    let call = waiting.into_iter().next().context("nothing waits for a decision")?;
    let shown = call.request.diff.clone().unwrap_or_else(|| format!("{:?}", call.request.arguments));
    eprintln!("{} wants to do this:\n{shown}", call.request.tool);
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    let decision = TurnApproveParams {
        workspace_id: turn.workspace_id,
        turn_id: turn.turn_id,
        call_id: call.request.call_id,
        allow: answer.trim() == "yes",
        digest: call.request.digest,
        how: HowDecided::Asked,
    };
    client.call::<TurnApprove>(&decision).await?;
    Ok(())
}
