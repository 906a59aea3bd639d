//! `foreword events`.

use client::Events as Following;
use protocol::notification::{DocumentChanged, Notification as _, TreeChanged};
use protocol::{DocumentStatus, Sequence, TurnId};
use serde_json::json;

use crate::arguments::Events;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Reader, one_line};
use crate::signals::StopSignals;

/// Characters of a tool's name, which a model may have made up.
const TOOL_WIDTH: usize = 100;

pub(crate) async fn run(context: Context, arguments: Events) -> Result<Exit, Failure> {
    // From now on, so that a request to end is never missed between two events.
    let mut stop = StopSignals::listen()?;
    let output = context.output;
    let client = context.connect().await?;
    let workspace = context.workspace(&client, &arguments.scope).await?;
    drop(client);
    let since = arguments.since.map(Sequence);
    let mut events = Following::follow(context.target()?, workspace.id, since).await?;
    output.note(format!("following workspace `{}`; stop with Ctrl-C", workspace.name));
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let event = tokio::select! {
            event = events.next() => event?,
            () = stop.next() => break,
        };
        let reader =
            output.data(&json!({ "method": event.method, "params": event.params }), || describe(&event))?;
        if reader == Reader::Gone {
            break;
        }
        left -= 1;
    }
    Ok(Exit::Done)
}

/// One line: number, what, where.
fn describe(event: &client::Event) -> String {
    let what = match event.method.as_str() {
        DocumentChanged::NAME => serde_json::from_str(event.params.get()).map(document_line),
        TreeChanged::NAME => serde_json::from_str(event.params.get()).map(tree_line),
        method if method.starts_with("turn/") || method.starts_with("context/") => {
            serde_json::from_str(event.params.get()).map(turn_line)
        }
        _ => Ok(event.params.get().to_owned()),
    };
    format!(
        "{:>6}  {}  {}\n",
        event.seq,
        event.method,
        what.unwrap_or_else(|_| event.params.get().to_owned())
    )
}

fn document_line(changed: DocumentChanged) -> String {
    let scope = changed.folder_id.as_ref().map_or("/", |folder| folder.as_str());
    match changed.summary {
        Some(summary) => {
            let draft = if summary.status == DocumentStatus::Draft { ", draft" } else { "" };
            format!("{scope}  version {}, {} characters{draft}", summary.version, summary.char_count)
        }
        None => format!("{scope}  archived"),
    }
}

/// What all notifications about turns have, and what some do.
#[derive(serde::Deserialize)]
struct TurnEvent {
    turn_id: TurnId,
    round: Option<u32>,
    tool: Option<String>,
    is_error: Option<bool>,
    through: Option<u64>,
}

fn turn_line(event: TurnEvent) -> String {
    let mut words = vec![event.turn_id.to_string()];
    words.extend(event.round.map(|round| format!("round {round}")));
    words.extend(event.tool.map(|tool| one_line(&tool, TOOL_WIDTH)));
    words.extend(event.is_error.map(|is_error| if is_error { "failed" } else { "ok" }.to_owned()));
    words.extend(event.through.map(|through| format!("up to turn {through}")));
    words.join("  ")
}

fn tree_line(changed: TreeChanged) -> String {
    let reason = serde_json::to_value(changed.reason).unwrap_or_default();
    let reason = reason.as_str().unwrap_or_default().replace('_', " ");
    let thread = changed.thread_id.map(|id| id.to_string());
    match thread.or_else(|| changed.folder_id.map(|id| id.to_string())) {
        Some(id) => format!("{reason}  {id}"),
        None => reason,
    }
}
