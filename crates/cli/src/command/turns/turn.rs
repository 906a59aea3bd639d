//! `foreword turn`, and the conversation of a thread.

mod answer;
mod approval;
mod explain;
mod follow;
mod question_view;
pub(super) mod start;
mod steps;

use client::Client;
use follow::TurnFollower;
use protocol::method::{
    PromptRebuildParams, TurnApprove, TurnApproveParams, TurnCancel, TurnExplain, TurnGet, TurnGetParams,
    TurnGetResult, TurnList, TurnListParams, TurnPageParams, TurnRequest, TurnRequestResult,
};
use protocol::turn::TokenUsage;
use protocol::{ContentHash, HowDecided, ThreadId, Turn as Record, TurnApproval, TurnStatus, WorkspaceId};
use serde_json::json;
use steps::Extent;

use crate::arguments::{NamedTurn, Turn};
use crate::command::turns::prompt::print_text;
use crate::context::{Context, find_thread, find_turn};
use crate::failure::{Exit, Failure};
use crate::output::table;
use crate::output::terminal::{fit, time};
use crate::output::{one_line, shown, shown_name};
use crate::signals::StopSignals;

/// Maximum length of a question in a list.
const QUESTION_WIDTH: usize = 60;
/// Turns per request.
const PAGE: u32 = 500;

pub(crate) async fn run(context: Context, command: Turn) -> Result<Exit, Failure> {
    let output = context.output;
    match command {
        Turn::Start(arguments) => start::run(context, arguments).await,
        Turn::List { thread, limit, scope } => {
            let client = context.connect().await?;
            let workspace_id = context.workspace(&client, &scope).await?.id;
            let thread_id = Some(find_thread(&client, &workspace_id, &thread).await?);
            let params = TurnListParams { workspace_id, thread_id, limit: Some(limit), before: None };
            let result = client.call::<TurnList>(&params).await?;
            output.data(&result, || list(&result.turns))?;
            Ok(Exit::Done)
        }
        Turn::Show { named, full } => {
            let (client, params, root) = find_with_root(&context, &named).await?;
            let result = whole(&client, params).await?;
            let extent = if full { Extent::Whole } else { Extent::Shortened };
            output.data(&result, || fit(&shown(&steps::describe(&result, root.as_deref(), extent))))?;
            Ok(Exit::Done)
        }
        Turn::Explain(named) => {
            let (client, params) = find(&context, &named).await?;
            let result = client.call::<TurnExplain>(&params).await?;
            output.data(&result, || fit(&shown(&explain::describe(&result.explanation))))?;
            Ok(Exit::Done)
        }
        Turn::Request { named, round } => {
            let (client, TurnGetParams { workspace_id, turn_id }) = find(&context, &named).await?;
            let params = PromptRebuildParams { workspace_id, turn_id, round };
            let result = client.call::<TurnRequest>(&params).await?;
            print_text(output, &result, &result.body)?;
            let TurnRequestResult { round, model, sha256, bytes, .. } = &result;
            output.note(format!("\nround {round}, {model}: {bytes} bytes, sha256 {sha256}"));
            Ok(Exit::Done)
        }
        Turn::Watch(named) => {
            // Listening starts before the turn is looked up, so that Ctrl-C in between is not lost.
            let stop = StopSignals::listen()?;
            let (client, params, root) = find_with_root(&context, &named).await?;
            let TurnGetParams { workspace_id, turn_id } = params;
            // The command that started the turn asks for approval; this one only reports it.
            let policy = approval::Policy::Elsewhere;
            let follower = TurnFollower::new(&context, client, stop, policy, workspace_id, root).await?;
            follower.watch(turn_id).await
        }
        Turn::Cancel(named) => {
            let (client, params) = find(&context, &named).await?;
            let result = client.call::<TurnCancel>(&params).await?;
            output.data(&result, || format!("{}\n", status_name(result.turn.status)))?;
            if result.turn.status == TurnStatus::Cancelled {
                return Ok(Exit::Done);
            }
            // The request is recorded, but the gateway that runs the turn may be another one that has not reacted yet.
            if result.turn.status == TurnStatus::Running {
                let message = "the turn still runs: whoever runs it has not answered";
                return Err(
                    Failure::new(Exit::Failed, message).hint("it was asked to stop; check again later")
                );
            }
            // Exit code 1 shows scripts that there was nothing to cancel.
            output.note("the turn had already ended");
            Ok(Exit::CheckFailed)
        }
        Turn::Approve { named, call, deny, digest } => {
            let (client, params) = find(&context, &named).await?;
            let TurnGetResult { approvals: mut waiting, delegated, .. } =
                client.call::<TurnGet>(&params.clone().into()).await?;
            // Decided calls are found too, so that the gateway can explain that this one needs no decision any more.
            let asked = waiting.iter().find(|approval| approval.request.call_id == call).cloned();
            waiting.retain(|approval| approval.decision.is_none());
            let help = asked.is_none().then(|| waiting_calls(&waiting));
            if let Some(asked) = &asked {
                // The call is shown although the decision was already given, so that a record of it stays on the
                // screen.
                let columns = question_view::Screen::here().columns;
                let asker = question_view::Asker::of(asked, &delegated);
                question_view::rows(asked, asker.as_ref(), columns).iter().for_each(|row| output.note(row));
            }
            let TurnGetParams { workspace_id, turn_id } = params;
            // A delegated turn's call is decided in that turn, not in the parent.
            let turn_id = asked.as_ref().and_then(|asked| asked.turn_id.clone()).unwrap_or(turn_id);
            let digest = digest.map(ContentHash::from_stored);
            // Without an explicit digest, the decision is bound to the call that was just shown. If the call changes
            // in between, the gateway rejects the decision.
            let digest = digest.or_else(|| asked.and_then(|asked| asked.request.digest));
            let allow = !deny;
            let params = TurnApproveParams {
                workspace_id,
                turn_id,
                call_id: call,
                allow,
                digest,
                how: HowDecided::Asked,
            };
            let result = client.call::<TurnApprove>(&params).await;
            let result = result.map_err(|error| Failure::from(error).hints(help.as_deref()))?;
            output.data(&result, || format!("{}\n", if result.allowed { "allowed" } else { "denied" }))?;
            Ok(Exit::Done)
        }
    }
}

/// Lists the calls that can be decided.
fn waiting_calls(waiting: &[TurnApproval]) -> String {
    if waiting.is_empty() {
        return "no call of this turn waits for a decision".to_owned();
    }
    let calls = waiting.iter().map(|approval| format!("`{}`", shown_name(&approval.request.call_id)));
    format!("pending calls: {}", calls.collect::<Vec<_>>().join(", "))
}

/// Connects and finds the named turn.
async fn find(context: &Context, named: &NamedTurn) -> Result<(Client, TurnGetParams), Failure> {
    let (client, params, _) = find_with_root(context, named).await?;
    Ok((client, params))
}

/// Like [`find`], with the directory of the workspace.
async fn find_with_root(
    context: &Context,
    NamedTurn { turn, thread, scope }: &NamedTurn,
) -> Result<(Client, TurnGetParams, Option<String>), Failure> {
    let client = context.connect().await?;
    let workspace = context.workspace(&client, scope).await?;
    let workspace_id = workspace.id;
    let thread_id = match thread {
        Some(thread) => Some(find_thread(&client, &workspace_id, thread).await?),
        None => None,
    };
    let turn_id = find_turn(&client, &workspace_id, thread_id.as_ref(), turn).await?;
    Ok((client, TurnGetParams { workspace_id, turn_id }, workspace.root_path))
}

/// Loads a turn with all its steps, page by page.
async fn whole(client: &Client, params: TurnGetParams) -> Result<TurnGetResult, Failure> {
    let mut params = TurnPageParams::from(params);
    let mut turn = client.call::<TurnGet>(&params).await?;
    while turn.next.is_some() {
        params.after = turn.next;
        turn.append(client.call::<TurnGet>(&params).await?);
    }
    Ok(turn)
}

/// Prints the conversation of a thread, oldest first.
pub(crate) async fn history(
    context: &Context,
    client: &Client,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
) -> Result<(), Failure> {
    let mut turns: Vec<Record> = Vec::new();
    loop {
        let params = TurnListParams {
            workspace_id: workspace_id.clone(),
            thread_id: Some(thread_id.clone()),
            limit: Some(PAGE),
            // The gateway lists turns from the newest one on, so the next page ends before the last number.
            before: turns.last().map(|turn| turn.ordinal),
        };
        let page = client.call::<TurnList>(&params).await?.turns;
        let is_last = page.len() < PAGE as usize;
        turns.extend(page);
        if is_last {
            break;
        }
    }
    turns.reverse();
    // The list only serves to find the turns, so each one is loaded in full.
    for turn in &mut turns {
        let params = TurnGetParams { workspace_id: workspace_id.clone(), turn_id: turn.id.clone() };
        *turn = client.call::<TurnGet>(&params.into()).await?.turn;
    }
    context.output.data(&json!({ "turns": turns }), || {
        let talks: Vec<String> = turns.iter().map(talk).collect();
        shown(&talks.join("\n")).into_owned()
    })?;
    if turns.is_empty() {
        context.output.note("no questions were asked yet");
    }
    Ok(())
}

/// Formats a quoted question and its answer.
fn talk(turn: &Record) -> String {
    let mut text = String::new();
    for line in turn.input.trim_end().lines() {
        text.push_str(format!("> {line}").trim_end());
        text.push('\n');
    }
    if let Some(answer) = turn.answer.as_deref().map(str::trim_end).filter(|answer| !answer.is_empty()) {
        text.push_str(&format!("\n{answer}\n"));
    }
    if turn.status != TurnStatus::Completed {
        let why = turn.error.as_ref().map_or_else(String::new, |error| format!(": {}", error.message));
        text.push_str(&format!("\n({}{why})\n", status_name(turn.status)));
    }
    text
}

fn list(turns: &[Record]) -> String {
    let rows = turns.iter().map(|turn| {
        vec![
            turn.ordinal.to_string(),
            turn.id.to_string(),
            status_name(turn.status).to_owned(),
            turn.model.clone().unwrap_or_default(),
            time(turn.created_at),
            one_line(&turn.input, QUESTION_WIDTH),
        ]
    });
    table(&["number", "id", "status", "model", "began", "question"], rows)
}

fn status_name(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running => "running",
        TurnStatus::Completed => "completed",
        TurnStatus::Failed => "failed",
        TurnStatus::Cancelled => "cancelled",
    }
}

/// Describes a turn's token usage, if any.
fn describe_spent(turn: &Record) -> Option<String> {
    turn.usage.as_ref().filter(|usage| **usage != TokenUsage::default()).map(describe_usage)
}

/// Formats token usage: `100 in, 20 out (5 reasoning), 60 cached`.
fn describe_usage(usage: &TokenUsage) -> String {
    let TokenUsage { input, output, cached_read, reasoning, .. } = usage;
    let reasoning = if *reasoning > 0 { format!(" ({reasoning} reasoning)") } else { String::new() };
    format!("{input} in, {output} out{reasoning}, {cached_read} cached")
}
