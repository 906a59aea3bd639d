//! `foreword events`.

mod line;
mod names;

use client::WorkspaceFollower;
use protocol::Sequence;
use serde_json::json;

use self::names::Names;
use crate::arguments::Events;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::Reader;
use crate::signals::StopSignals;

pub(crate) async fn run(context: Context, arguments: Events) -> Result<Exit, Failure> {
    // Listen before connecting, so that a signal during setup is not lost.
    let mut stop = StopSignals::listen()?;
    let output = context.output;
    let client = context.connect().await?;
    let workspace = context.workspace(&client, &arguments.scope).await?;
    let since = arguments.since.map(Sequence);
    let changes = WorkspaceFollower::over(client, context.target()?, workspace.id.clone(), since).await?;
    let mut names = Names::new(changes, workspace.id);
    output.note(format!("following workspace `{}`; stop with Ctrl-C", workspace.name));
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let event = tokio::select! {
            event = names.changes.next_change() => event?,
            () = stop.next() => break,
        };
        let reader = if output.is_json() {
            output.json(&json!({ "method": event.method, "params": event.params }))?
        } else {
            // Looking up names may take long while the gateway restarts, so a signal must be able to end it.
            let line = tokio::select! {
                line = line::describe(&event, &mut names) => line,
                () = stop.next() => break,
            };
            crate::output::print(&line)?
        };
        // A reader such as `head` has closed its end, which ends the command without an error.
        if reader == Reader::Gone {
            break;
        }
        left -= 1;
    }
    Ok(Exit::Done)
}
