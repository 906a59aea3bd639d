//! `foreword audit`.

use client::Client;
use protocol::method::{AuditList, AuditListParams, AuditListResult};
use protocol::{AuditEntry, AuditEvent, HowDecided, Timestamp};

use crate::arguments::expiry::Since;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{shown_name, table};

/// Number of entries per request.
const PAGE: u32 = 500;

pub(crate) async fn run(context: Context, since: Option<Since>) -> Result<Exit, Failure> {
    let client = context.connect().await?;
    let mut entries = match since {
        Some(since) => all_since(&client, since.from(Timestamp::now())).await?,
        None => client.call::<AuditList>(&AuditListParams::default()).await?.entries,
    };
    // The gateway lists the newest entry first, but a log is read from the oldest entry on.
    entries.reverse();
    let result = AuditListResult { entries };
    context.output.data(&result, || {
        let rows = result.entries.iter().map(|entry| {
            vec![
                entry.at.to_string(),
                entry.event.kind().replace('_', " "),
                entry.actor.as_deref().map_or_else(|| "-".to_owned(), shown_name),
                describe(entry),
            ]
        });
        table(&["time", "what", "who", "details"], rows)
    })?;
    Ok(Exit::Done)
}

/// Fetches all entries since a time, newest first, page by page.
async fn all_since(client: &Client, since: Timestamp) -> Result<Vec<AuditEntry>, Failure> {
    let mut params = AuditListParams { since: Some(since), before: None, limit: Some(PAGE) };
    let mut entries = Vec::new();
    loop {
        let page = client.call::<AuditList>(&params).await?.entries;
        // A full page may happen to be the last one, which only the next page can show.
        let is_last = page.len() < PAGE as usize;
        entries.extend(page);
        params.before = entries.last().map(|entry| entry.id.clone());
        if is_last {
            return Ok(entries);
        }
    }
}

fn describe(entry: &AuditEntry) -> String {
    let mut details = match &entry.event {
        AuditEvent::GatewayStarted { version, address, database, sandbox, settings } => {
            let sandbox =
                sandbox.map_or("no commands".to_owned(), |level| format!("commands {}", level.name()));
            let mut text = format!("version {version} at {address}, database {database}, {sandbox}");
            for (key, value) in settings {
                text.push_str(&format!(", {key} = {value}"));
            }
            text
        }
        AuditEvent::TokenUsed { authentications, calls, forbidden, .. } => {
            let mut text = format!("{}, {}", times("shown", *authentications), number(*calls, "call"));
            if *forbidden > 0 {
                text.push_str(&format!(", {forbidden} forbidden"));
            }
            text
        }
        AuditEvent::AuthenticationFailed { source, reason, count, .. } => {
            format!("from {source}: {} token, {}", reason.name(), number(*count, "time"))
        }
        AuditEvent::ConsoleSession { method, .. } => format!("signed in with a {}", method.name()),
        AuditEvent::TokenCreated { name, role, expires_at, .. } => match expires_at {
            Some(at) => format!("{}, {role} until {at}", shown_name(name)),
            None => format!("{}, {role}", shown_name(name)),
        },
        AuditEvent::TokenRevoked { name, .. }
        | AuditEvent::WorkspaceArchived { name }
        | AuditEvent::WorkspaceRestored { name } => shown_name(name),
        AuditEvent::WorkspaceRootChanged { from, to } => {
            let named = |path: &Option<String>| path.as_deref().map_or_else(|| "none".to_owned(), shown_name);
            format!("from {} to {}", named(from), named(to))
        }
        AuditEvent::MemoryForgotten { item_id, scope, removed } => {
            let carriers = removed.prompt_texts + removed.openings + removed.calls + removed.summaries;
            format!("{item_id} of the scope {scope}, and {} that carried it", number(carriers, "text"))
        }
        AuditEvent::ApprovalDecided { turn_id, call_id, tool, digest, allowed, how, identity } => {
            let decision = if *allowed { "allowed" } else { "denied" };
            let how = match how {
                HowDecided::Asked => "",
                HowDecided::Standing => ", by a standing answer",
                HowDecided::Flag => ", by a flag, nobody was asked",
                HowDecided::Unattended => ", because nobody was there to be asked",
                HowDecided::Expired => ", because nobody answered in time",
            };
            let identity = if *identity { ", about the model's identity" } else { "" };
            let digest = digest.as_ref().map_or(String::new(), |digest| format!(", digest {digest}"));
            format!("{decision} {tool} ({call_id} of turn {turn_id}){how}{identity}{digest}")
        }
    };
    if let Some(workspace_id) = &entry.workspace_id {
        details.push_str(&format!(", workspace {workspace_id}"));
    }
    details
}

fn times(what: &str, count: u64) -> String {
    if count == 1 { format!("{what} once") } else { format!("{what} {count} times") }
}

fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
